'use strict';
// Does with a page what a reader would, and says in <html data-passed="yes">
// that everything answered; else data-failed says what did not.
(async () => {
const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const check = (holds, what) => { if (!holds) throw new Error(what); };
const mouse = (canvas, type, x, y, more) => {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: box.left + x, clientY: box.top + y, ...more}));
};
const key = (name, more) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, ...more}));
const rows = (id) => $(id).querySelectorAll('tbody tr').length;
const picture = () => $('boxes').toDataURL();
const until = async (holds, what) => {
  for (let i = 0; i < 100; ++i) { if (holds()) return; await wait(20); }
  throw new Error(what);
};

try {
  await wait(100);
  check(root.dataset.ready === 'yes', 'the page did not start');
  check(!$('page').hidden && $('cards').children.length >= 6, 'no sums');
  check(rows('live') > 0 && rows('kernels') > 0, 'empty tables');

  // Hover: somewhere in the picture lies a buffer.
  const boxes = $('boxes');
  let held = null;
  for (let y = 20; y < boxes.clientHeight - 24 && !held; y += 6) {
    for (let x = 90; x < boxes.clientWidth - 20 && !held; x += 24) {
      mouse(boxes, 'mousemove', x, y);
      if (!$('tip').hidden) held = [x, y];
    }
  }
  check(held, 'no buffer under the mouse');
  check(/^%.*kept by/s.test($('tip').textContent), 'the tip says too little: ' + $('tip').textContent);
  mouse(boxes, 'mousedown', ...held);
  mouse(boxes, 'mouseup', ...held);
  check($('chosen').textContent.startsWith('%'), 'nothing chosen');
  mouse($('curve'), 'mousemove', 300, 60);
  check(/at point \d+/.test($('tip').textContent), 'no tip on the curve');

  // A click on the curve chooses its point; p goes back to the peak.
  mouse($('curve'), 'mousedown', 200, 60);
  mouse($('curve'), 'mouseup', 200, 60);
  check(!$('livetitle').textContent.includes('the peak'), 'the point did not move');
  key('p');
  check($('livetitle').textContent.includes('the peak'), 'p does not find the peak');
  key('ArrowRight');
  check(!$('livetitle').textContent.includes('the peak'), 'arrows do not move');

  // Search.
  key('p');
  const all = rows('live');
  $('search').value = 'no such thing at all';
  $('search').dispatchEvent(new Event('input'));
  await until(() => $('found').textContent.startsWith('0 buffers'), 'search finds what is not there');
  check(rows('live') === 0, 'search does not filter');
  key('Escape');
  check(rows('live') === all, 'Esc does not end the search');

  // Filter by the legend, colors, zoom, theme: the picture changes.
  await wait(60);
  let before = picture();
  const changed = async (what) => {
    await until(() => picture() !== before, what);
    before = picture();
  };
  $('legend').querySelector('button').click();
  await changed('the legend hides nothing');
  $('legend').querySelector('button').click();
  await changed('the legend shows nothing again');
  $('color').value = 'layer';
  $('color').dispatchEvent(new Event('change'));
  await changed('colors do not change');
  key('+');
  await changed('+ does not zoom');
  const drawText = CanvasRenderingContext2D.prototype.fillText;
  const drawRectangle = CanvasRenderingContext2D.prototype.fillRect;
  const ticks = [], tops = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    if (this.canvas === boxes && /^\d+$/.test(text)) ticks.push(Number(text));
    drawText.call(this, text, ...place);
  };
  CanvasRenderingContext2D.prototype.fillRect = function (x, y, ...size) {
    if (this.canvas === boxes && x > 0) tops.push(y);  // a buffer's, not the background
    drawRectangle.call(this, x, y, ...size);
  };
  key('0');
  await changed('0 does not show everything');
  CanvasRenderingContext2D.prototype.fillText = drawText;
  CanvasRenderingContext2D.prototype.fillRect = drawRectangle;
  check(ticks.length >= 2 && ticks.length <= 8 && ticks[0] === 0 && /^[125]0*$/.test(ticks[1]) &&
        ticks.every((tick, i) => tick === i * ticks[1]), 'the ticks are not round: ' + ticks);
  // Neither limits nor what came before make buffers flat: they fill a third.
  check(Math.min(...tops) <= boxes.clientHeight * 2 / 3, 'buffers lie flat, from ' + Math.min(...tops));
  mouse(boxes, 'mousedown', 200, 50);
  mouse(boxes, 'mouseup', 500, 50);
  await changed('dragging does not zoom');
  key('d');
  await changed('d does not change the theme');

  // What limits cost, where the page has it: all in the table, plans on hover.
  check($('budget').hidden === !$('data').textContent.includes('"budget":{'), 'the curve hides, or shows nothing');
  if (!$('budget').hidden) {
    check(rows('budget') === 5, 'not all limits are in the table');
    const prices = $('prices');
    let plan = false;
    for (let y = 20; y < prices.clientHeight && !plan; y += 16) {
      for (let x = 80; x < prices.clientWidth && !plan; x += 16) {
        mouse(prices, 'mousemove', x, y);
        plan = !$('tip').hidden;
      }
    }
    check(plan && / for .*plan: /s.test($('tip').textContent), 'no plan under the mouse: ' + $('tip').textContent);
    mouse(prices, 'mouseleave', 0, 0);
    check($('tip').hidden, 'the tip of a plan stays');
  }

  // What changed, where the page is of two modules: all sums, and a cause.
  check($('diff').hidden === !$('data').textContent.includes('"diff":{'), 'what changed hides, or shows nothing');
  if (!$('diff').hidden) {
    check(rows('sums') === 12, 'not all sums are there');
    check(rows('causes') > 0 && /of (new|removed) instructions/.test($('causes').textContent), 'no cause');
    check($('plan').hidden, 'a plan that is none');
  }

  // Tables: sorting, opening a group.
  $('live').querySelectorAll('th button')[3].click();
  check($('live').querySelectorAll('th')[3].getAttribute('aria-sort') === 'ascending', 'no sorting');
  const closed = rows('live');
  $('live').querySelector('tr.group').click();
  check(rows('live') > closed, 'a group does not open');
  key('?');
  check(!$('keys').hidden, '? shows no keys');
  root.dataset.passed = 'yes';
} catch (error) {
  root.dataset.failed = error.message;
}
})();
