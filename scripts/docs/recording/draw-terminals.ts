import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePythonEnvironment } from '@runledger/local-servers/python';
import { runCommand } from '@runledger/local-servers/run-command';
import type { Shown } from './terminal.ts';

/** The reader does not wait longer for anything. */
const LONGEST_WAIT_MS = 1_500;
/** How long the end is shown before the recording begins again. */
const END_MS = 8_000;
/** Shorter frames are left out. */
const SHORTEST_FRAME_MS = 150;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Draws what terminals showed, one after the other, as an animated SVG, which termtosvg makes. @throws Error that says what is missing */
export const drawTerminals = async (
  recordings: readonly (readonly Shown[])[],
  size: Size,
): Promise<string> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-drawing-'));
  const [cast, template, drawn] = ['terminals.cast', 'template.svg', 'terminals.svg'].map((name) =>
    join(folder.path, name),
  );
  if (!cast || !template || !drawn) throw new Error('There are three files.');
  await writeFile(cast, castOf(recordings, size));
  await writeFile(template, templateOf(size));
  const { python, pip, wheelsOf } = await makePythonEnvironment(
    'The picture of a terminal',
    join(folder.path, 'venv'),
    process.env,
  );
  const requirements = join(import.meta.dirname, 'termtosvg.txt');
  const wheels = await wheelsOf(requirements);
  await pip(['install', '--quiet', '--no-index', '--find-links', wheels, '-r', requirements]);
  const times = ['-m', String(SHORTEST_FRAME_MS), '-M', String(LONGEST_WAIT_MS), '-D', String(END_MS)];
  const args = ['-m', 'termtosvg', 'render', cast, drawn, '-t', template, ...times];
  const made = await runCommand(python, args, { env: process.env, withinMs: 120_000 });
  if (!made.ok) throw new Error(`termtosvg cannot draw: ${made.why}`);
  return readFile(drawn, 'utf8');
};

/** A grey line before each further terminal. */
const NEXT_TERMINAL = '\r\n\u001B[90m──── in a second terminal ────\u001B[0m\r\n';

/** In the format of asciinema, version 2: a header, and a line for each text with its time in seconds. */
const castOf = (recordings: readonly (readonly Shown[])[], { columns, rows }: Size): string => {
  let beganMs = 0;
  const lines = recordings.flatMap((shown, n) => {
    const moved = shown.map(({ atMs, text }) => ({ atMs: beganMs + atMs, text }));
    const divided = n === 0 ? [] : [{ atMs: beganMs, text: NEXT_TERMINAL }];
    beganMs += (shown.at(-1)?.atMs ?? 0) + LONGEST_WAIT_MS;
    return [...divided, ...moved].map(({ atMs, text }) => JSON.stringify([atMs / 1_000, 'o', text]));
  });
  return `${[JSON.stringify({ version: 2, width: columns, height: rows }), ...lines].join('\n')}\n`;
};

/** Pixels of a letter, as termtosvg places it, and around the text. */
const LETTER = { width: 8, height: 17 };
const MARGIN = 16;

/**
 * A dark terminal with an edge, for light pages and dark ones. Who prefers no motion sees the end.
 * The elements with `termtosvg` and the ids are what termtosvg fills.
 */
const templateOf = ({ columns, rows }: Size): string => {
  const width = columns * LETTER.width;
  const height = rows * LETTER.height;
  const outer = { width: width + 2 * MARGIN, height: height + 2 * MARGIN };
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" id="terminal" viewBox="0 0 ${outer.width} ${outer.height}" width="${outer.width}" version="1.1">
<defs>
<termtosvg:template_settings xmlns:termtosvg="https://github.com/nbedos/termtosvg">
<termtosvg:screen_geometry columns="${columns}" rows="${rows}"/>
<termtosvg:animation type="css"/>
</termtosvg:template_settings>
<style type="text/css" id="generated-style"></style>
<style type="text/css" id="user-style">
#screen { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.frame { fill: #0d1117; stroke: #59636e; }
.foreground { fill: #e6edf3; } .background { fill: #0d1117; }
.color0 { fill: #0d1117; } .color1 { fill: #ff7b72; } .color2 { fill: #7ee787; } .color3 { fill: #f2cc60; }
.color4 { fill: #79c0ff; } .color5 { fill: #d2a8ff; } .color6 { fill: #76e3ea; } .color7 { fill: #e6edf3; }
.color8 { fill: #9198a1; } .color9 { fill: #ff7b72; } .color10 { fill: #7ee787; } .color11 { fill: #f2cc60; }
.color12 { fill: #79c0ff; } .color13 { fill: #d2a8ff; } .color14 { fill: #76e3ea; } .color15 { fill: #ffffff; }
@media (prefers-reduced-motion: reduce) { #screen_view { animation-delay: -3600s; animation-iteration-count: 1; animation-fill-mode: both; } }
</style>
</defs>
<rect class="frame" x="0.5" y="0.5" width="${outer.width - 1}" height="${outer.height - 1}" rx="8"/>
<svg id="screen" x="${MARGIN}" y="${MARGIN}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"></svg>
</svg>`;
};
