'use strict';
// Draws the MemoryPage (memory_page.proto) that the element `data` holds. Names
// of the module reach the document as text only, never as markup.
(() => {
const page = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const {memory, strings, instructions, buffers, kernels, collectives} = page;
const ticks = page.ticks;
const count = buffers.bytes.length;

// --- Words -----------------------------------------------------------------

const ofString = (column) => (i) => i < 0 ? '' : strings[column[i]];
const nameOf = (i) => i < 0 ? '' : instructions.name[i];
const opcodeOf = ofString(instructions.opcode);
const computationOf = ofString(instructions.computation);
const opNameOf = ofString(instructions.op_name);
const layerOf = ofString(instructions.layer);
const sourceOf = ofString(instructions.source);
const kindOf = ofString(buffers.kind);
const shapeOf = ofString(buffers.shape);

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < 4) { bytes /= 1024; ++unit; }
  return (unit ? bytes.toFixed(bytes < 10 ? 2 : 1) : Math.round(bytes)) + ' ' + units[unit];
}
function time(microseconds) {
  if (microseconds >= 1e6) return (microseconds / 1e6).toFixed(2) + ' s';
  if (microseconds >= 1e3) return (microseconds / 1e3).toFixed(2) + ' ms';
  return microseconds.toFixed(microseconds < 10 ? 2 : 1) + ' µs';
}
function amount(value) {
  const units = ['', 'k', 'M', 'G', 'T', 'P'];
  let unit = 0;
  while (value >= 1000 && unit < 5) { value /= 1000; ++unit; }
  return (unit ? value.toFixed(1) : String(Math.round(value))) + units[unit];
}
const percent = (share) => (100 * share).toFixed(1) + ' %';
const place = (i) => [opNameOf(i), sourceOf(i)].filter(Boolean).join(', ');
const shortSource = (i) => sourceOf(i).split('/').slice(-2).join('/');
// Short, with everything on hover.
const shortPlace = (i) => element('span', {title: place(i)}, [layerOf(i), shortSource(i)].filter(Boolean).join(', '));
// `%dot.3{1}`: an element of a tuple has its index.
function bufferName(b) {
  const index = strings[buffers.shape_index[b]];
  return '%' + nameOf(buffers.instruction[b]) + (index === '{}' ? '' : index);
}
function keeper(b) {
  if (buffers.kept_by[b] >= 0) return '%' + nameOf(buffers.kept_by[b]);
  return kindOf(b) === 'temporary' ? 'no reader' : 'the caller';
}
const groupOf = (i) => layerOf(i) || opcodeOf(i);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// --- Live bytes ------------------------------------------------------------

const points = Math.max(ticks.length, 1);
const live = new Float64Array(points + 1);
for (let b = 0; b < count; ++b) {
  live[buffers.first[b]] += buffers.bytes[b];
  live[Math.min(buffers.last[b] + 1, points)] -= buffers.bytes[b];
}
for (let t = 1; t <= points; ++t) live[t] += live[t - 1];
const peakPoint = memory.peak_point;
const limit = memory.limit_bytes || 0;
const before = page.before;  // of a module that was made to fit, or compared
// What each picture's axis reaches to. What is far above everything would flatten the buffers.
const withBefore = before ? Math.max(memory.peak_bytes, before.peak_bytes) : 0;
const taken = Math.max(memory.peak_bytes, memory.heap_bytes, 1);
const heights = {boxes: Math.max(taken, ...[limit, withBefore].filter((bytes) => bytes <= 3 * taken))};
heights.curve = Math.max(heights.boxes, withBefore);

const state = {
  from: 0, to: points, point: peakPoint, query: '', hidden: new Set(),
  color: 'kind', selected: -1, found: null,
};

// --- Colors: Okabe and Ito's, told apart with any kind of color vision ----

const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];
const OTHER = '#8a929e';
const KINDS = {
  'argument': '#0072b2', 'argument+output': '#56b4e9', 'output': '#009e73',
  'temporary': '#e69f00', 'call': '#cc79a7',
};
const classes = {
  kind: kindOf,
  layer: (b) => groupOf(buffers.instruction[b]),
  opcode: (b) => opcodeOf(buffers.instruction[b]),
};
let classOf = [];        // per buffer: index of `colors`
let colors = [];         // [{name, color, bytes}]

function chooseColors() {
  const of = classes[state.color];
  const weights = new Map();
  for (let b = 0; b < count; ++b) {
    const area = buffers.bytes[b] * (buffers.last[b] - buffers.first[b] + 1);
    weights.set(of(b), (weights.get(of(b)) || 0) + area);
  }
  const names = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a < b ? -1 : 1));
  colors = names.slice(0, PALETTE.length).map((name, i) => (
      {name, color: state.color === 'kind' ? KINDS[name] || OTHER : PALETTE[i]}));
  if (names.length > PALETTE.length) colors.push({name: 'other', color: OTHER});
  const index = new Map(names.map((name, i) => [name, Math.min(i, PALETTE.length)]));
  classOf = Array.from({length: count}, (unused, b) => index.get(of(b)));
  state.hidden.clear();
  const legend = $('legend');
  legend.replaceChildren(...colors.map((entry, i) => {
    const swatch = element('i');
    swatch.style.background = entry.color;
    return element('button', {
      'aria-pressed': 'true', title: 'Show or hide',
      onclick: (event) => {
        const hide = !state.hidden.delete(i);
        if (hide) state.hidden.add(i);
        event.currentTarget.setAttribute('aria-pressed', String(!hide));
        redraw();
        showLive();
      },
    }, swatch, entry.name || '(no name)');
  }));
}
const isShown = (b) => !state.hidden.has(classOf[b]) && (!state.found || state.found.has(buffers.instruction[b]));

// --- Pictures --------------------------------------------------------------

const LEFT = 74, BOTTOM = 20, TOP = 8;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, rows = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(rows * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(rows * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = style('--panel');
  context.fillRect(0, 0, width, rows);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  const height = heights[canvas.id];
  const plot = {context, width, height, left: LEFT, right: width - 8, top: TOP, bottom: rows - BOTTOM};
  plot.x = (tick) => plot.left + (tick - state.from) / (state.to - state.from) * (plot.right - plot.left);
  plot.y = (bytes) => plot.bottom - bytes / height * (plot.bottom - plot.top);
  plot.tick = (x) => state.from + (x - plot.left) / (plot.right - plot.left) * (state.to - state.from);
  plot.bytes = (y) => (plot.bottom - y) / (plot.bottom - plot.top) * height;
  return plot;
}

// The whole numbers of a range that stand on its axis, at most 8: multiples of
// 1, 2 or 5 times a power of ten.
function roundTicks(from, to) {
  const least = Math.max(1, (to - from) / 7);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= least);
  const ticks = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}

function axes(plot, lines) {
  const {context} = plot;
  context.strokeStyle = style('--line');
  context.fillStyle = style('--faint');
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  // Steps of 2^n bytes: their labels are round.
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(plot.height / lines)));
  for (let bytes = 0; bytes <= plot.height; bytes += step) {
    const y = Math.round(plot.y(bytes)) + .5;
    context.beginPath();
    context.moveTo(plot.left, y);
    context.lineTo(plot.right, y);
    context.stroke();
    context.fillText(size(bytes), plot.left - 6, y);
  }
  context.textBaseline = 'top';
  context.textAlign = 'center';
  for (const tick of roundTicks(state.from, state.to)) {
    const text = String(tick), half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(plot.x(tick), plot.left + half), plot.right - half), plot.bottom + 5);
  }
}

function line(plot, y, label, color) {
  const {context} = plot;
  if (y < plot.top - 1) return;
  context.save();
  context.strokeStyle = context.fillStyle = color;
  context.setLineDash([6, 4]);
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(plot.left, y);
  context.lineTo(plot.right, y);
  context.stroke();
  context.textAlign = 'left';
  context.textBaseline = y - plot.top < 14 ? 'top' : 'bottom';
  context.fillText(label, plot.left + 6, y + (y - plot.top < 14 ? 3 : -2));
  context.restore();
}

function marker(plot) {
  const {context} = plot;
  if (state.point < state.from || state.point > state.to) return;
  const x = plot.x(state.point + .5);
  context.save();
  context.strokeStyle = style('--text');
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, plot.top);
  context.lineTo(x, plot.bottom);
  context.stroke();
  context.restore();
}

function drawCurve() {
  const plot = prepare($('curve'));
  const {context} = plot;
  axes(plot, 4);
  context.beginPath();
  context.moveTo(plot.left, plot.bottom);
  for (let x = plot.left; x <= plot.right; ++x) {
    const begin = Math.max(0, Math.floor(plot.tick(x)));
    const end = Math.min(points, Math.max(begin + 1, Math.floor(plot.tick(x + 1))));
    let most = 0;
    for (let t = begin; t < end; ++t) most = Math.max(most, live[t]);
    context.lineTo(x, plot.y(most));
  }
  context.lineTo(plot.right, plot.bottom);
  context.closePath();
  context.fillStyle = style('--accent');
  context.globalAlpha = .35;
  context.fill();
  context.globalAlpha = 1;
  if (before) drawBefore(plot);
  if (limit && limit <= plot.height) line(plot, plot.y(limit), 'limit ' + size(limit), style('--bad'));
  marker(plot);
}

// Both programs take the whole width, though the rewritten one has more points.
function drawBefore(plot) {
  const {context} = plot;
  context.save();
  context.strokeStyle = context.fillStyle = style('--faint');
  context.setLineDash([3, 3]);
  context.lineWidth = 1.5;
  context.beginPath();
  let topX = plot.left, top = -1;
  for (let x = plot.left; x <= plot.right; ++x) {
    const at = Math.floor(plot.tick(x) / points * before.live.length);
    const bytes = before.live[Math.max(0, Math.min(at, before.live.length - 1))];
    if (bytes > top) [topX, top] = [x, bytes];
    context.lineTo(x, plot.y(bytes));
  }
  context.stroke();
  context.setLineDash([]);
  context.textAlign = topX > (plot.left + plot.right) / 2 ? 'right' : 'left';
  const room = plot.y(top) - plot.top > 14;
  context.textBaseline = room ? 'bottom' : 'top';
  context.fillText('before', topX, plot.y(top) + (room ? -2 : 4));
  context.restore();
}

function drawBoxes() {
  const plot = prepare($('boxes'));
  const {context} = plot;
  axes(plot, 8);
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
  context.clip();
  const edge = style('--panel');
  for (const pass of [false, true]) {  // what is hidden lies below
    for (let b = 0; b < count; ++b) {
      if (buffers.last[b] < state.from || buffers.first[b] > state.to || isShown(b) !== pass) continue;
      const x = plot.x(buffers.first[b]), y = plot.y(buffers.offset[b] + buffers.bytes[b]);
      const w = Math.max(plot.x(buffers.last[b] + 1) - x, .6);
      const h = Math.max(plot.y(buffers.offset[b]) - y, .4);
      context.globalAlpha = pass ? .92 : .1;
      context.fillStyle = colors[classOf[b]].color;
      context.fillRect(x, y, w, h);
      if (pass && w > 3 && h > 3) {
        context.strokeStyle = edge;
        context.lineWidth = 1;
        context.strokeRect(x + .5, y + .5, w - 1, h - 1);
      }
      if (pass && h > 13 && w > 90) {
        context.fillStyle = '#000000';
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        const begin = Math.max(x, plot.left);
        const room = Math.floor((Math.min(x + w, plot.right) - begin - 8) / 6.2);
        const text = groupOf(buffers.instruction[b]) + '  ' + size(buffers.bytes[b]);
        if (room > 8) context.fillText(text.length > room ? text.slice(0, room - 1) + '…' : text, begin + 4, y + h / 2);
      }
    }
  }
  context.globalAlpha = 1;
  if (state.selected >= 0) {
    const b = state.selected;
    context.strokeStyle = style('--text');
    context.lineWidth = 2;
    const y = plot.y(buffers.offset[b] + buffers.bytes[b]);
    context.strokeRect(plot.x(buffers.first[b]), y,
                       plot.x(buffers.last[b] + 1) - plot.x(buffers.first[b]), plot.y(buffers.offset[b]) - y);
  }
  context.restore();
  if (limit && limit <= plot.height) line(plot, plot.y(limit), 'limit ' + size(limit), style('--bad'));
  marker(plot);
}

const draw = () => { drawCurve(); drawBoxes(); drawPrices(); };
let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

// --- Moving about ----------------------------------------------------------

function show(from, to) {
  const width = Math.min(Math.max(to - from, Math.min(4, points)), points);
  state.from = Math.min(Math.max(0, (from + to - width) / 2), points - width);
  state.to = state.from + width;
  redraw();
}
function zoom(factor, around = state.point + .5) {
  const center = Math.min(Math.max(around, state.from), state.to);
  show(center - (center - state.from) * factor, center + (state.to - center) * factor);
}
function choosePoint(point) {
  state.point = Math.min(Math.max(0, Math.round(point)), points - 1);
  if (state.point < state.from || state.point >= state.to) {
    const half = (state.to - state.from) / 2;
    show(state.point - half, state.point + half);
  }
  redraw();
  showLive();
}
function select(b) {
  state.selected = b;
  $('chosen').replaceChildren();
  if (b >= 0) {
    $('chosen').append(element('b', {}, bufferName(b)), '  ' + description(b).filter(Boolean).join(' · '));
  }
  redraw();
}
function description(b) {
  const i = buffers.instruction[b];
  return [
    size(buffers.bytes[b]) + ' ' + kindOf(b), shapeOf(b), opcodeOf(i) + ' in %' + computationOf(i), place(i),
    'points ' + buffers.first[b] + '–' + buffers.last[b] + ', offset ' + size(buffers.offset[b]),
    'kept by ' + keeper(b),
  ];
}

function bufferAt(plot, x, y) {
  const tick = plot.tick(x), bytes = plot.bytes(y);
  for (let b = count - 1; b >= 0; --b) {
    if (buffers.first[b] <= tick && tick < buffers.last[b] + 1 && buffers.offset[b] <= bytes &&
        bytes < buffers.offset[b] + buffers.bytes[b] && isShown(b)) return b;
  }
  return -1;
}

function showTip(event, lines) {
  const tip = $('tip');
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(element('b', {}, lines[0]), ...lines.slice(1).filter(Boolean).map(
      (text) => element('div', {class: 'faint'}, text)));
  const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 16;
  const y = below + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
  tip.style.left = Math.max(x, 4) + 'px';
  tip.style.top = Math.max(y, 4) + 'px';
}

function geometry(canvas) {
  const plot = {left: LEFT, right: canvas.clientWidth - 8, top: TOP, bottom: canvas.clientHeight - BOTTOM};
  plot.tick = (x) => state.from + (x - plot.left) / (plot.right - plot.left) * (state.to - state.from);
  plot.bytes = (y) => (plot.bottom - y) / (plot.bottom - plot.top) * heights[canvas.id];
  return plot;
}

function hover(canvas, event) {
  const plot = geometry(canvas);
  const tick = Math.floor(plot.tick(event.offsetX));
  if (tick < 0 || tick >= points || event.offsetX < plot.left) return showTip(event, null);
  if (canvas.id === 'boxes') {
    const b = bufferAt(plot, event.offsetX, event.offsetY);
    return showTip(event, b < 0 ? null : [bufferName(b), ...description(b)]);
  }
  const at = ticks[tick];
  return showTip(event, [
    size(live[tick]) + ' at point ' + tick,
    at >= 0 ? '%' + nameOf(at) + ' (' + opcodeOf(at) + ') in %' + computationOf(at) : 'before the first instruction',
    at >= 0 ? place(at) : '',
  ]);
}

function listen(canvas) {
  let begin = null;
  canvas.addEventListener('mousedown', (event) => { begin = event.offsetX; });
  canvas.addEventListener('mousemove', (event) => hover(canvas, event));
  canvas.addEventListener('mouseleave', (event) => { begin = null; showTip(event, null); });
  canvas.addEventListener('dblclick', () => show(0, points));
  canvas.addEventListener('mouseup', (event) => {
    if (begin === null) return;
    const plot = geometry(canvas);
    const range = [plot.tick(begin), plot.tick(event.offsetX)].sort((a, b) => a - b);
    const moved = Math.abs(event.offsetX - begin);
    begin = null;
    if (moved > 6) return show(range[0], range[1]);
    if (canvas.id === 'boxes') select(bufferAt(plot, event.offsetX, event.offsetY));
    choosePoint(Math.floor(range[0]));
  });
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;  // the page scrolls
    event.preventDefault();
    const by = event.deltaY || event.deltaX;
    zoom(Math.exp(Math.max(-1, Math.min(1, by / 300))), geometry(canvas).tick(event.offsetX));
  }, {passive: false});
}

// --- Tables ----------------------------------------------------------------

// Columns: {title, value(row), text(row), numeric, mono, tight}; `members` gives rows
// that a click opens.
function table(container, columns, rows, options = {}) {
  let shown = options.limit || 25;
  let sort = null;
  const body = element('tbody');
  const more = element('button', {class: 'more', onclick: () => { shown *= 4; fill(); }});
  const heads = columns.map((column, c) => element('th', {
    scope: 'col', class: column.numeric ? 'num' : null,
  }, element('button', {onclick: () => {
    sort = sort && sort.column === c ? {column: c, up: !sort.up} : {column: c, up: !column.numeric};
    heads.forEach((head, i) => head.setAttribute('aria-sort', i !== c ? 'none' : sort.up ? 'ascending' : 'descending'));
    fill();
  }}, column.title)));
  const cells = (row, text) => columns.map((column, c) => element(
      'td', {class: [column.numeric ? 'num' : '', column.mono ? 'mono' : '', column.tight ? 'tight' : '', column.title === 'Layer' ? 'layer' : ''].join(' ').trim() || null}, text(column, row, c)));
  const sorted = () => {
    if (!sort) return rows;
    const {value} = columns[sort.column];
    const order = (a, b) => value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0;
    return [...rows].sort((a, b) => sort.up ? order(a, b) : order(b, a));
  };
  const fill = () => {
    body.replaceChildren();
    for (const row of sorted().slice(0, shown)) {
      const line = element('tr', {class: options.members ? 'group' : 'row'}, ...cells(row, (column) => column.text(row)));
      body.append(line);
      if (!options.members) continue;
      let opened = null;
      line.tabIndex = 0;
      const toggle = () => {
        if (opened) {
          opened.forEach((member) => member.remove());
          opened = null;
        } else {
          opened = options.members(row).map((member) => element('tr', {class: 'member'}, ...member));
          line.after(...opened);
        }
        line.setAttribute('aria-expanded', String(Boolean(opened)));
      };
      line.setAttribute('aria-expanded', 'false');
      line.addEventListener('click', toggle);
      line.addEventListener('keydown', (event) => { if (event.key === 'Enter') toggle(); });
    }
    more.hidden = rows.length <= shown;
    more.textContent = 'More: ' + (rows.length - shown) + ' rows';
  };
  fill();
  container.replaceChildren(
      rows.length ? element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body) :
      element('p', {class: 'note'}, options.nothing || 'Nothing.'), more);
}

function liveGroups() {
  const groups = new Map();
  for (let b = 0; b < count; ++b) {
    if (buffers.first[b] > state.point || buffers.last[b] < state.point || !isShown(b)) continue;
    const layer = groupOf(buffers.instruction[b]);
    const key = layer + '\n' + kindOf(b) + '\n' + shapeOf(b);
    const group = groups.get(key) || {layer, kind: kindOf(b), shape: shapeOf(b), bytes: 0, members: []};
    group.bytes += buffers.bytes[b];
    group.members.push(b);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes || (a.layer < b.layer ? -1 : 1));
}

// The first member's, and whether there are others.
function groupSource(group) {
  const sources = new Set(group.members.map((b) => shortSource(buffers.instruction[b])).filter(Boolean));
  return [...sources].slice(0, 1).join('') + (sources.size > 1 ? ' + ' + (sources.size - 1) : '');
}

function memberCells(b) {
  const i = buffers.instruction[b];
  return [
    element('td', {class: 'num'}, size(buffers.bytes[b])), element('td', {colspan: '2'}),
    element('td', {class: 'mono'}, bufferName(b)), element('td', {}, opcodeOf(i)),
    element('td', {colspan: '2'}, [place(i), 'points ' + buffers.first[b] + '–' + buffers.last[b],
            'kept by ' + keeper(b)].filter(Boolean).join(' · ')),
  ];
}

function showLive() {
  const at = ticks.length ? ticks[state.point] : -1;
  const total = live[state.point] || 0;
  $('livetitle').textContent = 'Live at point ' + state.point + (state.point === peakPoint ? ' (the peak)' : '') +
      ': ' + size(total) + (at >= 0 ? ', while %' + nameOf(at) + ' runs' : '');
  const share = (group) => group.bytes / Math.max(total, 1);
  table($('live').querySelector('.table'), [
    {title: 'Bytes', numeric: true, value: (g) => g.bytes, text: (g) => size(g.bytes)},
    {title: 'Share', tight: true, value: (g) => g.bytes, text: (g) => {
      const meter = element('span', {class: 'meter'});
      meter.style.width = Math.round(60 * share(g)) + 'px';
      return element('span', {}, meter, percent(share(g)));
    }},
    {title: 'Each', numeric: true, value: (g) => g.bytes / g.members.length, text: (g) => size(g.bytes / g.members.length)},
    {title: 'Layer', value: (g) => g.layer, text: (g) => (g.members.length > 1 ? g.members.length + ' × ' : '') + g.layer},
    {title: 'Kind', tight: true, value: (g) => g.kind, text: (g) => g.kind},
    {title: 'Shape', mono: true, value: (g) => g.shape, text: (g) => g.shape},
    {title: 'Source', value: (g) => sourceOf(buffers.instruction[g.members[0]]), text: groupSource},
  ], liveGroups(), {members: (g) => g.members.slice(0, 200).map(memberCells), nothing: 'None of the selected buffers is live here.'});
}

const range = (length) => Array.from({length}, (unused, i) => i);
const isFound = (i) => !state.found || state.found.has(i);

// Kernels of equal layers that do the same.
function kernelGroups() {
  const groups = new Map();
  for (const k of range(kernels.instruction.length)) {
    const i = kernels.instruction[k];
    if (!isFound(i)) continue;
    const operations = strings[kernels.contents[k]] || opcodeOf(i);
    const key = [operations, layerOf(i), kernels.shape[k]].join('\n');
    const group = groups.get(key) || {operations, members: [], time: 0, runs: 0, flops: 0, bytes: 0, peak: 0};
    const runs = kernels.runs[k];
    group.members.push(k);
    group.runs += runs;
    group.time += runs * kernels.microseconds[k];
    group.flops += runs * kernels.flops[k];
    group.bytes += runs * kernels.bytes[k];
    group.peak += runs * kernels.microseconds[k] * kernels.roofline[k];
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.time - a.time);
}

function showKernels() {
  const total = kernels.total_microseconds;
  $('kernels').querySelector('.note').textContent = amount(kernels.total_count) + ' kernels, run ' +
      amount(kernels.total_runs) + ' times: ' + time(total) + ' and ' + size(kernels.total_bytes) +
      ' moved, as modeled for ' + kernels.device + (kernels.instruction.length < kernels.total_count ?
      '; the ' + kernels.instruction.length + ' longest are listed' : '');
  const first = (g) => kernels.instruction[g.members[0]];
  const share = (microseconds) => percent(microseconds / Math.max(total, 1e-9));
  const peakRate = (g) => g.peak / Math.max(g.time, 1e-9);
  const member = (k) => {
    const i = kernels.instruction[k], runs = kernels.runs[k];
    return [
      time(runs * kernels.microseconds[k]), share(runs * kernels.microseconds[k]), amount(runs),
      amount(runs * kernels.flops[k]), size(runs * kernels.bytes[k]), percent(kernels.roofline[k]),
    ].map((text) => element('td', {class: 'num'}, text)).concat([
      element('td', {class: 'mono'}, '%' + nameOf(i)), element('td', {class: 'mono'}, strings[kernels.shape[k]]),
      element('td', {}, place(i)),
    ]);
  };
  table($('kernels').querySelector('.table'), [
    {title: 'Time', numeric: true, value: (g) => g.time, text: (g) => time(g.time)},
    {title: 'Share', numeric: true, value: (g) => g.time, text: (g) => share(g.time)},
    {title: 'Runs', numeric: true, value: (g) => g.runs, text: (g) => amount(g.runs)},
    {title: 'FLOPs', numeric: true, value: (g) => g.flops, text: (g) => amount(g.flops)},
    {title: 'Bytes', numeric: true, value: (g) => g.bytes, text: (g) => size(g.bytes)},
    {title: 'Of peak rate', numeric: true, value: peakRate, text: (g) => percent(peakRate(g))},
    {title: 'Kernel', mono: true, value: (g) => nameOf(first(g)),
     text: (g) => g.members.length > 1 ? g.members.length + ' × %' + nameOf(first(g)) : '%' + nameOf(first(g))},
    {title: 'Operations', value: (g) => g.operations, text: (g) => g.operations},
    {title: 'Made by', value: (g) => layerOf(first(g)), text: (g) => shortPlace(first(g))},
  ], kernelGroups(), {members: (g) => g.members.slice(0, 200).map(member), nothing: 'No kernel matches.'});
}

function showCollectives() {
  $('collectives').hidden = !collectives.instruction.length && !collectives.note;
  if (collectives.note) $('collectives').querySelector('.note').textContent = 'Not priced: ' + collectives.note;
  if (!collectives.instruction.length) return;
  const all = (c) => collectives.runs[c] * collectives.bytes[c];
  const rows = range(collectives.instruction.length);
  $('collectives').querySelector('.note').textContent =
      size(rows.reduce((sum, c) => sum + all(c), 0)) + ' sent per device, ' +
      time(rows.reduce((sum, c) => sum + collectives.runs[c] * collectives.microseconds[c], 0)) + ' on ' + collectives.mesh;
  table($('collectives').querySelector('.table'), [
    {title: 'Bytes per device', numeric: true, value: all, text: (c) => size(all(c))},
    {title: 'Time', numeric: true, value: (c) => collectives.runs[c] * collectives.microseconds[c],
     text: (c) => time(collectives.runs[c] * collectives.microseconds[c])},
    {title: 'Runs', numeric: true, value: (c) => collectives.runs[c], text: (c) => amount(collectives.runs[c])},
    {title: 'Kind', value: (c) => collectives.kind[c], text: (c) => strings[collectives.kind[c]]},
    {title: 'Instruction', mono: true, value: (c) => nameOf(collectives.instruction[c]), text: (c) => '%' + nameOf(collectives.instruction[c])},
    {title: 'Made by', value: (c) => place(collectives.instruction[c]), text: (c) => shortPlace(collectives.instruction[c])},
  ], rows.filter((c) => isFound(collectives.instruction[c])), {nothing: 'No collective matches.'});
}

function showComputations() {
  const rows = [...memory.computations].sort((a, b) => b.peak_bytes - a.peak_bytes);
  table($('computations').querySelector('.table'), [
    {title: 'Most bytes while it runs', numeric: true, value: (c) => c.peak_bytes, text: (c) => size(c.peak_bytes)},
    {title: 'Instructions', numeric: true, value: (c) => c.instruction_count, text: (c) => amount(c.instruction_count)},
    {title: 'Computation', mono: true, value: (c) => c.name, text: (c) => '%' + c.name},
    {title: 'At', mono: true, value: (c) => c.peak_instruction, text: (c) => '%' + c.peak_instruction},
  ], rows, {limit: 10});
}

// --- What limits cost ------------------------------------------------------

const budget = page.budget;  // of hlo-explain --budget-curve
// Each plan once, smallest peak first.
const plans = !budget ? [] : [...new Map(budget.points.map(
    (point) => [point.peak_bytes + ' ' + point.added_seconds, point])).values()].sort((a, b) => a.peak_bytes - b.peak_bytes);
const sign = (value) => value < 0 ? '−' : value > 0 ? '+' : '';
const signedTime = (seconds) => sign(seconds) + time(Math.abs(seconds) * 1e6);
const signedPercent = (share) => sign(share) + percent(Math.abs(share));

// Round numbers of `unit` from `low` to `high`, about `count` of them, as
// {value, text}.
function steps(low, high, unit, name, count) {
  const rough = (high - low) / unit / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const digits = Math.min(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), 9);
  const made = [];
  for (let i = Math.ceil(low / unit / step); i * step * unit <= high; ++i) {
    made.push({value: i * step * unit, text: (i * step).toFixed(digits).replace('-', '−') + ' ' + name});
  }
  return made;
}
function byteSteps(low, high) {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(high) / 10)));
  return steps(low, high, 1024 ** power, ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power], 8);
}
function timeSteps(low, high) {
  const most = Math.max(-low, high);
  const [unit, name] = most >= 1 ? [1, 's'] : most >= 1e-3 ? [1e-3, 'ms'] : most >= 1e-6 ? [1e-6, 'µs'] : [1e-9, 'ns'];
  return steps(low, high, unit, name, 5);
}

// Places of bytes and seconds in the picture, with room around what is drawn.
function pricePlaces(canvas) {
  const bytes = [budget.lower_bound_bytes, budget.peak_before_bytes, ...plans.map((plan) => plan.peak_bytes)];
  if (limit && limit <= 2 * budget.peak_before_bytes) bytes.push(limit);
  const seconds = [0, ...plans.map((plan) => plan.added_seconds)];
  const room = (values, share, least) => {
    const low = Math.min(...values), high = Math.max(...values), more = (high - low) * share || least;
    return [low - more, high + more];
  };
  const [left, right] = room(bytes, .06, Math.max(budget.peak_before_bytes * .1, 1));
  const [bottom, top] = room(seconds, .15, 1e-6);
  const plot = {left: LEFT, right: canvas.clientWidth - 8, top: 3 * TEXT_ROW, bottom: canvas.clientHeight - BOTTOM};
  plot.x = (value) => plot.left + (value - left) / (right - left) * (plot.right - plot.left);
  plot.y = (value) => plot.bottom - (value - bottom) / (top - bottom) * (plot.bottom - plot.top);
  plot.bytes = byteSteps(Math.max(left, 0), right);
  plot.seconds = timeSteps(bottom, top);
  return plot;
}
const TEXT_ROW = 15;

// A line down the picture; its words stand in their own row above.
function upright(context, plot, bytes, row, label, color, dash) {
  const x = plot.x(bytes);
  context.save();
  context.strokeStyle = context.fillStyle = color;
  context.setLineDash(dash);
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, row * TEXT_ROW + 3);
  context.lineTo(x, plot.bottom);
  context.stroke();
  const left = x + 6 + context.measureText(label).width > plot.right;
  context.textAlign = left ? 'right' : 'left';
  context.textBaseline = 'top';
  context.fillText(label, x + (left ? -6 : 6), row * TEXT_ROW + 2);
  context.restore();
}

// From the bound to the smallest peak of a plan.
function shadeUnreached(context, plot) {
  const left = plot.x(budget.lower_bound_bytes);
  const right = plot.x(Math.min(budget.peak_before_bytes, ...plans.map((plan) => plan.peak_bytes)));
  context.save();
  context.fillStyle = style('--faint');
  if (right - left > 100) {
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText('no plan found', (left + right) / 2, plot.bottom - 12);
  }
  context.globalAlpha = .14;
  context.fillRect(left, plot.top, right - left, plot.bottom - plot.top);
  context.restore();
}

function drawPrices() {
  if (!budget) return;
  const {context} = prepare($('prices'));
  const plot = pricePlaces($('prices'));
  context.fillStyle = style('--faint');
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  context.lineWidth = 1;
  for (const {value, text} of plot.seconds) {
    const y = Math.round(plot.y(value)) + .5;
    context.strokeStyle = style(value === 0 ? '--faint' : '--line');
    context.beginPath();
    context.moveTo(plot.left, y);
    context.lineTo(plot.right, y);
    context.stroke();
    context.fillText((value > 0 ? '+' : '') + text, plot.left - 6, y);
  }
  context.textBaseline = 'top';
  context.textAlign = 'center';
  for (const {value, text} of plot.bytes) {
    const half = context.measureText(text).width / 2;
    const at = Math.round(plot.x(value)) + .5;
    context.strokeStyle = style('--line');
    context.beginPath();
    context.moveTo(at, plot.top);
    context.lineTo(at, plot.bottom);
    context.stroke();
    context.fillText(text, Math.min(Math.max(at, plot.left + half), plot.right - half), plot.bottom + 5);
  }
  shadeUnreached(context, plot);
  upright(context, plot, budget.lower_bound_bytes, 0, 'no plan gets below ' + size(budget.lower_bound_bytes),
          style('--text'), [2, 3]);
  if (limit && plot.x(limit) <= plot.right) {
    upright(context, plot, limit, 1, 'limit ' + size(limit), style('--bad'), [6, 4]);
  }
  upright(context, plot, budget.peak_before_bytes, 2, 'as it is ' + size(budget.peak_before_bytes), style('--faint'), []);
  drawPlans(context, plot);
}

// What a limit costs at least: that of the cheapest plan whose peak it allows.
function drawPlans(context, plot) {
  context.save();
  context.strokeStyle = context.fillStyle = style('--accent');
  context.lineWidth = 2;
  context.beginPath();
  let least = Infinity;
  const all = [...plans, {peak_bytes: budget.peak_before_bytes, added_seconds: 0}].sort((a, b) => a.peak_bytes - b.peak_bytes);
  for (const plan of all) {
    const x = plot.x(plan.peak_bytes), y = plot.y(Math.min(least, plan.added_seconds));
    if (least === Infinity) context.moveTo(x, y);
    else context.lineTo(x, plot.y(least));
    least = Math.min(least, plan.added_seconds);
    context.lineTo(x, y);
  }
  context.lineTo(plot.right, plot.y(least));
  context.stroke();
  for (const plan of plans) {
    context.beginPath();
    context.arc(plot.x(plan.peak_bytes), plot.y(plan.added_seconds), 4.5, 0, 2 * Math.PI);
    context.fill();
  }
  // Hollow: the module without a plan.
  context.fillStyle = style('--panel');
  context.beginPath();
  context.arc(plot.x(budget.peak_before_bytes), plot.y(0), 4.5, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  context.restore();
}

function hoverPrices(event) {
  const plot = pricePlaces($('prices'));
  const far = (plan) => Math.hypot(plot.x(plan.peak_bytes) - event.offsetX, plot.y(plan.added_seconds) - event.offsetY);
  const plan = plans.reduce((best, other) => best && far(best) <= far(other) ? best : other, null);
  if (!plan || far(plan) > 40) return showTip(event, null);
  return showTip(event, [
    size(plan.peak_bytes) + ' for ' + signedTime(plan.added_seconds) + ' (' + signedPercent(plan.added_seconds_fraction) + ')',
    signedPercent(plan.added_flops_fraction) + ' FLOPs, ' + amount(plan.instructions_added) + ' instructions more',
    'plan: ' + plan.method,
  ]);
}

function showBudget() {
  $('budget').hidden = !budget;
  if (!budget) return;
  const met = budget.points.filter((point) => point.met);
  const found = plans.length ? plans[0].peak_bytes : budget.peak_before_bytes;
  $('budget').querySelector('.note').textContent =
      'Horizontal: peak memory; vertical: modeled time that the plan adds to the whole program; below 0, fusion saves ' +
      'more than recomputation costs. Limits met: ' + met.length + ' of ' + budget.points.length +
      '. The smallest peak found is ' + size(found) + '; with the rewrites considered none is below ' +
      size(budget.lower_bound_bytes) + '.';
  table($('budget').querySelector('.table'), [
    {title: 'Limit', numeric: true, value: (p) => p.limit_bytes, text: (p) => size(p.limit_bytes)},
    {title: 'Of the peak', numeric: true, value: (p) => p.limit_fraction, text: (p) => percent(p.limit_fraction)},
    {title: 'Peak of the plan', numeric: true, value: (p) => p.peak_bytes, text: (p) => size(p.peak_bytes)},
    {title: 'Time', numeric: true, value: (p) => p.added_seconds, text: (p) => signedTime(p.added_seconds)},
    {title: 'Of the time', numeric: true, value: (p) => p.added_seconds_fraction, text: (p) => signedPercent(p.added_seconds_fraction)},
    {title: 'FLOPs', numeric: true, value: (p) => p.added_flops_fraction, text: (p) => signedPercent(p.added_flops_fraction)},
    {title: 'Instructions', numeric: true, value: (p) => p.instructions_added, text: (p) => amount(p.instructions_added)},
    {title: 'Met', value: (p) => p.met ? 0 : p.peak_bytes - p.limit_bytes,
     text: (p) => p.met ? 'yes' : 'no, ' + size(p.peak_bytes - p.limit_bytes) + ' too much'},
    {title: 'Plan', value: (p) => p.method, text: (p) => p.method},
  ], budget.points);
  $('prices').addEventListener('mousemove', hoverPrices);
  $('prices').addEventListener('mouseleave', (event) => showTip(event, null));
}

// --- What changed ----------------------------------------------------------

const diff = page.diff;  // of hlo-diff --html
const signedSize = (bytes) => sign(bytes) + size(Math.abs(bytes));
const changed = (from, to) => from === to ? String(to) : from + ' → ' + to;

// Rows of the table of sums: what, before, after, and how to write these.
function diffSums() {
  const of = (name, key, text) => ({name, from: diff.before[key], to: diff.after[key], text});
  return [
    of('Peak', 'peak_bytes', size), of('With offsets', 'heap_bytes', size), of('Arguments', 'argument_bytes', size),
    of('Outputs', 'output_bytes', size), of('Temporaries', 'temp_bytes', size),
    of('Kernel time', 'microseconds', time), of('Moved', 'moved_bytes', size), of('Kernels', 'kernels', String),
    of('Fusions', 'fusions', String), of('Collectives', 'collectives', String), of('Sent per device', 'sent_bytes', size),
    of('Instructions', 'instructions', String),
  ];
}

function causeReasons(cause) {
  const reason = (bytes, more, less) => bytes ? signedSize(bytes) + ' ' + (bytes > 0 ? more : less) : '';
  return [
    reason(cause.made_bytes, 'of new instructions', 'of removed instructions'),
    reason(cause.lifetime_bytes, 'live at this peak, not at the other', 'live at the other peak, not at this one'),
    reason(cause.size_bytes, 'larger', 'smaller'),
  ].filter(Boolean).join(', ');
}

function showDiff() {
  $('diff').hidden = !diff;
  if (!diff) return;
  const {before: a, after: b} = diff;
  const matched = [
    ['the same', diff.same], ['in a changed context', diff.in_changed_context], ['rewired', diff.rewired],
    ['changed', diff.changed], ['removed', diff.removed], ['added', diff.added],
  ].map(([what, number]) => number + ' ' + what).join(', ');
  $('diff').querySelector('.note').textContent = [
    a.file + ' → ' + b.file + (diff.equal ? ': equal but for names' : ''),
    changed(a.looked_at, b.looked_at), diff.equal ? '' : 'instructions: ' + matched,
    diff.order_differs ? 'they run in a different order' : '', ...diff.header,
  ].filter(Boolean).join(' · ');
  table($('sums'), [
    {title: 'What', value: (r) => r.name, text: (r) => r.name},
    {title: 'Before', numeric: true, value: (r) => r.from, text: (r) => r.text(r.from)},
    {title: 'After', numeric: true, value: (r) => r.to, text: (r) => r.text(r.to)},
    {title: 'Change', numeric: true, value: (r) => r.to - r.from,
     text: (r) => r.from === r.to ? '' : sign(r.to - r.from) + r.text(Math.abs(r.to - r.from))},
    {title: '', value: (r) => r.from ? r.to / r.from : 0,
     text: (r) => r.from && r.from !== r.to ? signedPercent(r.to / r.from - 1) : ''},
  ], diffSums());
  $('causetitle').textContent = 'Why the peak changed (' + signedSize(b.peak_bytes - a.peak_bytes) + ')';
  const sections = [
    ['causes', diff.causes, [
      {title: 'Change', numeric: true, value: (c) => c.delta_bytes, text: (c) => signedSize(c.delta_bytes)},
      {title: 'Before', numeric: true, value: (c) => c.before_bytes, text: (c) => size(c.before_bytes)},
      {title: 'After', numeric: true, value: (c) => c.after_bytes, text: (c) => size(c.after_bytes)},
      {title: 'Buffers', tight: true, value: (c) => c.after_count, text: (c) => changed(c.before_count, c.after_count)},
      {title: 'Layer', value: (c) => c.layer, text: (c) => c.layer},
      {title: 'Kind', tight: true, value: (c) => c.kind, text: (c) => c.kind},
      {title: 'Why', value: causeReasons, text: causeReasons},
      {title: 'Largest', mono: true, value: (c) => c.instruction, text: (c) => '%' + c.instruction + ' ' + c.shape},
      {title: 'Source', value: (c) => c.source, text: (c) => c.source.split('/').slice(-2).join('/')},
    ]],
    ['sent', diff.collectives, [
      {title: 'Kind', value: (c) => c.kind, text: (c) => c.kind},
      {title: 'Number', tight: true, value: (c) => c.after_count, text: (c) => changed(c.before_count, c.after_count)},
      {title: 'Sent before', numeric: true, value: (c) => c.before_bytes, text: (c) => size(c.before_bytes)},
      {title: 'Sent after', numeric: true, value: (c) => c.after_bytes, text: (c) => size(c.after_bytes)},
    ]],
    ['groups', diff.groups, [
      {title: 'What', tight: true, value: (g) => Number(g.added), text: (g) => g.added ? 'added' : 'removed'},
      {title: 'Number', numeric: true, value: (g) => g.count, text: (g) => g.count + ' ×'},
      {title: 'Results', numeric: true, value: (g) => g.bytes, text: (g) => size(g.bytes)},
      {title: 'Opcode', tight: true, value: (g) => g.opcode, text: (g) => g.opcode},
      {title: 'Layer', value: (g) => g.layer, text: (g) => g.layer},
      {title: 'Such as', mono: true, value: (g) => g.instruction, text: (g) => '%' + g.instruction},
      {title: 'Source', value: (g) => g.source, text: (g) => g.source},
    ]],
    ['changes', diff.changes, [
      {title: 'Instruction', mono: true, value: (c) => c.before,
       text: (c) => '%' + c.before + (c.after === c.before ? '' : ' (now %' + c.after + ')')},
      {title: 'Opcode', tight: true, value: (c) => c.opcode, text: (c) => c.opcode},
      {title: 'What', mono: true, value: (c) => c.what.length, text: (c) => c.what.join('; ')},
      {title: 'Made by', value: (c) => c.layer, text: (c) => [c.layer, c.source].filter(Boolean).join(', ')},
    ]],
  ];
  for (const [id, rows, columns] of sections) {
    $(id).hidden = $(id).previousElementSibling.hidden = !rows.length;
    if (rows.length) table($(id), columns, rows, {limit: 10});
  }
}

// --- Search ----------------------------------------------------------------

let texts = null;
function search(query) {
  state.query = query.trim().toLowerCase();
  state.found = null;
  $('found').textContent = '';
  if (state.query) {
    if (!texts) {
      texts = instructions.name.map((name, i) => [
        '%' + name, opcodeOf(i), computationOf(i), opNameOf(i), sourceOf(i), layerOf(i)].join('\n').toLowerCase());
      for (let b = 0; b < count; ++b) texts[buffers.instruction[b]] += '\n' + shapeOf(b).toLowerCase();
    }
    const words = state.query.split(/\s+/);
    state.found = new Set();
    texts.forEach((text, i) => { if (words.every((word) => text.includes(word))) state.found.add(i); });
    let held = 0;
    for (let b = 0; b < count; ++b) held += state.found.has(buffers.instruction[b]);
    $('found').textContent = held + ' buffers of ' + state.found.size + ' instructions found';
  }
  redraw();
  showLive();
  showKernels();
  showCollectives();
}

// --- The page --------------------------------------------------------------

function card(value, label, mood) {
  return element('div', {class: 'card' + (mood ? ' ' + mood : '')}, element('b', {}, value), element('span', {}, label));
}
function showSums() {
  $('title').textContent = memory.module;
  const input = memory.input || {};
  $('facts').textContent = [
    amount(memory.instruction_count) + ' instructions', input.description,
    input.passes ? 'passes run: ' + input.passes : '',
    'order: ' + (memory.schedule_algorithm !== 'as-is' ? memory.schedule_algorithm :
                 input.passes ? 'by passes' : 'as given') +
        (memory.schedule_winner && memory.schedule_winner !== memory.schedule_algorithm ? ' (' + memory.schedule_winner + ')' : ''),
  ].filter(Boolean).join(' · ');
  const cards = [card(size(memory.peak_bytes), before ? 'peak, before ' + size(before.peak_bytes) : 'peak')];
  if (limit) {
    const need = Math.max(memory.peak_bytes, memory.heap_bytes);
    cards.push(memory.fits ? card('fits', size(limit - need) + ' to spare of ' + size(limit), 'good') :
               card('does not fit', size(need - limit) + ' more than ' + size(limit), 'bad'));
  }
  cards.push(
      card(size(memory.peak_argument_bytes), 'arguments at the peak, of ' + size(memory.argument_bytes)),
      card(size(memory.peak_output_bytes), 'outputs at the peak, of ' + size(memory.output_bytes)),
      card(size(memory.temp_bytes), 'temporaries at the peak'),
      card(size(memory.heap_bytes), 'with offsets, ' + percent(memory.fragmentation) + ' lost'),
      card(size(memory.any_order_lower_bound_bytes), 'at least, in any order'));
  $('cards').replaceChildren(...cards);
  $('plan').hidden = !before || !before.plan;
  if (before) $('plan').querySelector('pre').textContent = before.plan;
}
function setTheme(dark) {
  document.documentElement.classList.toggle('dark', dark);
  $('theme').textContent = dark ? 'Light' : 'Dark';
  redraw();
}
const isDark = () => document.documentElement.classList.contains('dark');

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches('input, select')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const step = event.shiftKey ? 20 : 1;
  const actions = {
    '/': () => $('search').focus(),
    'ArrowLeft': () => choosePoint(state.point - step),
    'ArrowRight': () => choosePoint(state.point + step),
    'p': () => choosePoint(peakPoint),
    '+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2), '0': () => show(0, points),
    'd': () => setTheme(!isDark()),
    '?': () => { $('keys').hidden = !$('keys').hidden; },
    'Escape': () => { $('search').value = ''; search(''); select(-1); },
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function start() {
  $('page').hidden = false;
  showSums();
  chooseColors();
  // report.html#q=dot&theme=dark&color=layer&point=12 opens as asked for.
  const asked = new URLSearchParams(location.hash.slice(1));
  const dark = window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
  setTheme(asked.has('theme') ? asked.get('theme') === 'dark' : dark);
  if (classes[asked.get('color')]) $('color').value = state.color = asked.get('color');
  chooseColors();
  if (/^\d+$/.test(asked.get('point') || '')) state.point = Math.min(Number(asked.get('point')), points - 1);
  $('search').value = asked.get('q') || '';
  search($('search').value);
  showBudget();
  showDiff();
  showComputations();
  let timer = 0;
  $('search').addEventListener('input', (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => search(event.target.value), 120);
  });
  $('color').addEventListener('change', (event) => { state.color = event.target.value; chooseColors(); redraw(); showLive(); });
  $('theme').addEventListener('click', () => setTheme(!isDark()));
  $('print').addEventListener('click', () => window.print());
  $('help').addEventListener('click', () => { $('keys').hidden = !$('keys').hidden; });
  $('zoomin').addEventListener('click', () => zoom(.5));
  $('zoomout').addEventListener('click', () => zoom(2));
  $('whole').addEventListener('click', () => show(0, points));
  $('peak').addEventListener('click', () => choosePoint(peakPoint));
  listen($('curve'));
  listen($('boxes'));
  document.addEventListener('keydown', keys);
  window.addEventListener('resize', redraw);
  window.addEventListener('beforeprint', draw);
  window.addEventListener('afterprint', redraw);
  document.documentElement.dataset.ready = 'yes';
}
start();
})();
