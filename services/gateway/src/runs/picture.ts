import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { sendTagged, REVALIDATED } from '../door/responses.ts';
import { RunPath, runKeyOf } from './run-path.ts';
import { waterfall, PHASES, type Phase, type Waterfall, type WaterfallRow } from './waterfall.decide.ts';
import { historySource } from './history.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

const pictureOperation = operation({
  id: 'getRunHistoryPicture',
  method: 'GET',
  path: '/run/{run_id}/history.svg',
  tag: 'Runs',
  summary: 'See where the time of a run went',
  description:
    'A picture of its history: for each attempt how long it was queued, started, loaded, ran and uploaded, and when its notifications were sent.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'The picture.', contentTypes: ['image/svg+xml'] },
  refusals: [404, 410],
});

/** A picture may have a style of its own, and nothing else. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export const pictureRoute = (kit: Kit, runs: Runs): Route =>
  route(pictureOperation, async ({ path }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const read = await historySource(kit, runs, key);
    const drawn = waterfall(read, kit.now().getTime());
    if (!drawn) throw new Refused({ code: 'run_history_expired', why: FORGOTTEN });
    const subtitle = `${read.run?.status ?? 'unknown'}, ${durationWords((drawn.to - drawn.from) / 1_000)} in all`;
    ctx.type = 'image/svg+xml';
    ctx.set({ 'Content-Security-Policy': PICTURE_POLICY, 'Cache-Control': REVALIDATED });
    sendTagged(ctx, waterfallPicture(drawn, { title: `Run ${key.run_id}`, subtitle }));
  });

const FORGOTTEN =
  'The log does not have the beginning of this run any more: it keeps facts for a limited time, 7 days by default';

/** Of Okabe and Ito (https://jfly.uni-koeln.de/color/): people who do not see some colours can tell them apart. */
const COLOURS: Readonly<Record<Phase, string>> = {
  'waits for its time': '#b8c0c8',
  queued: '#7f7f7f',
  starting: '#56b4e9',
  'cold start': '#e69f00',
  running: '#0072b2',
  uploading: '#009e73',
  notifying: '#cc79a7',
};

/** Pixels. */
const ROW = 26;
const BAR = 14;
const LEFT = 110;
const WIDTH = 640;
const RIGHT = 90;
const TOP = 64;
const BOTTOM = 64;
/** A bar that is shorter could not be seen. */
const SHORTEST = 2;

/** A waterfall as SVG, for light pages and dark ones by the settings of the reader. The same waterfall gives the same text. */
export const waterfallPicture = (
  { from, to, rows }: Waterfall,
  { title, subtitle }: { readonly title: string; readonly subtitle: string },
): string => {
  const axis = axisOf((to - from) / 1_000);
  const xOf = (at: number): number => LEFT + ((at - from) / 1_000 / axis.until) * WIDTH;
  const bottom = TOP + rows.length * ROW;
  const width = LEFT + WIDTH + RIGHT;
  const height = bottom + BOTTOM;
  const ticks = axis.ticks.map((seconds) => {
    const x = round(LEFT + (seconds / axis.until) * WIDTH);
    return `<line class="grid" x1="${x}" y1="${TOP}" x2="${x}" y2="${bottom}"/>${text(x, bottom + 18, durationWords(seconds), 'faint', 'middle')}`;
  });
  const drawn = rows.map((row, n) => drawRow(row, TOP + n * ROW, xOf));
  const phases = PHASES.filter((phase) => rows.some(({ bars }) => bars.some((bar) => bar.phase === phase)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(`${title}: ${subtitle}`)}">`,
    STYLE,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    text(16, 24, title, 'title'),
    text(16, 44, subtitle, 'faint'),
    ...ticks,
    ...drawn,
    ...legend(phases, height - 18),
    '</svg>\n',
  ].join('\n');
};

const drawRow = ({ name, bars }: WaterfallRow, top: number, xOf: (at: number) => number): string => {
  const middle = top + ROW / 2;
  const drawn = bars.map(({ phase, from, to }) => {
    const width = Math.max(xOf(to) - xOf(from), SHORTEST);
    const words = `${phase}, ${durationWords((to - from) / 1_000)}`;
    return `<rect x="${round(xOf(from))}" y="${middle - BAR / 2}" width="${round(width)}" height="${BAR}" fill="${COLOURS[phase]}"><title>${escaped(words)}</title></rect>`;
  });
  const end = Math.max(...bars.map(({ to }) => to));
  const spent = bars.reduce((sum, bar) => sum + bar.to - bar.from, 0);
  return [
    text(LEFT - 10, middle + 4, name, 'ink', 'end'),
    ...drawn,
    text(round(Math.max(xOf(end), LEFT) + 6), middle + 4, durationWords(spent / 1_000), 'faint'),
  ].join('\n');
};

/** The letters of a legend are about so wide. */
const LETTER = 7;

const legend = (phases: readonly Phase[], y: number): string[] => {
  let x = LEFT;
  return phases.map((phase) => {
    const at = x;
    x += phase.length * LETTER + 36;
    return `<rect x="${at}" y="${y - 10}" width="12" height="12" fill="${COLOURS[phase]}"/>${text(at + 18, y, phase, 'ink')}`;
  });
};

const MOST_TICKS = 8;
const STEPS = [1, 2, 5, 10] as const;

/** Seconds: round numbers from 0 to the end. */
const axisOf = (seconds: number): { readonly until: number; readonly ticks: readonly number[] } => {
  const until = Math.max(seconds, 0.001);
  const power = 10 ** Math.floor(Math.log10(until / MOST_TICKS));
  const step = power * (STEPS.find((factor) => until / (power * factor) <= MOST_TICKS) ?? 10);
  return { until, ticks: Array.from({ length: Math.floor(until / step) + 1 }, (_, n) => n * step) };
};

const MINUTE = 60;
const HOUR = 3_600;

/** Such as `12 ms`, `3.2 s`, `4 min 10 s`. */
export const durationWords = (seconds: number): string => {
  if (seconds === 0) return '0';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  const tenths = Math.round(seconds * 10) / 10;
  if (tenths < MINUTE) return `${tenths} s`;
  const [large, small] = seconds < HOUR ? (['min', 's'] as const) : (['h', 'min'] as const);
  const rounded = Math.round(seconds < HOUR ? seconds : seconds / MINUTE);
  const rest = rounded % MINUTE;
  return `${Math.floor(rounded / MINUTE)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
};

const text = (x: number, y: number, words: string, kind: string, anchor = 'start'): string =>
  `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${escaped(words)}</text>`;

const round = (pixels: number): number => Math.round(pixels * 10) / 10;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (words: string): string =>
  words.replaceAll(/[&<>"]/g, (letter) => ENTITIES[letter] ?? letter);

const STYLE = `<style>
text { font: 12px sans-serif; fill: #1f2328; } .title { font-size: 16px; font-weight: bold; } .faint { fill: #59636e; }
.paper { fill: #ffffff; } .grid { stroke: #d1d9e0; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .faint { fill: #9198a1; } .paper { fill: #0d1117; } .grid { stroke: #30363d; } }
</style>`;
