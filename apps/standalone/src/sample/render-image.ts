// The sample workflow is a program like any other that an executor runs. It reads one JSON object from standard input,
// reports on standard output, and writes a picture of the Mandelbrot set to $RUNLEDGER_OUTPUT_DIR.
// SIGTERM keeps its default, which ends the process at once, even in the middle of a row.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import { encodePng } from './encode-png.ts';
import { readInputs } from './render-inputs.ts';
import type { RenderInputs } from './render-inputs.ts';
import { rowPainter } from './render-row.ts';
import { readScene } from './render-scene.ts';
import type { Scene } from './render-scene.ts';

const MAX_REPORTS = 100;

const main = async (): Promise<void> => {
  const outputFolder = process.env['RUNLEDGER_OUTPUT_DIR'];
  if (outputFolder === undefined)
    return refuse(['RUNLEDGER_OUTPUT_DIR is not set. An executor sets it for every program.']);
  const run = parsePlainJson(await text(process.stdin));
  if (!isJsonObject(run)) return refuse(['standard input is not a JSON object that describes a run.']);
  const read = readInputs(run['inputs'] ?? {});
  const scene = readScene(run['workflow']);
  if (!read.ok) return refuse(read.problems);
  if (!scene.ok) return refuse([scene.problem]);

  const pixels = await paint(read.inputs, scene.scene);
  const { size } = read.inputs;
  report(1, 'writing the PNG');
  writeFileSync(join(outputFolder, 'mandelbrot.png'), encodePng(size, pixels));
};

const paint = async (inputs: RenderInputs, scene: Scene): Promise<Buffer> => {
  const { size, seconds } = inputs;
  const pixels = Buffer.alloc(size * size * 3);
  const paintRow = rowPainter(inputs, scene);
  const reportEvery = Math.ceil(size / MAX_REPORTS);
  const startedAt = performance.now();
  for (let row = 0; row < size; row += 1) {
    paintRow(row, pixels.subarray(row * size * 3));
    const done = (row + 1) / size;
    const aheadMs = startedAt + seconds * 1000 * done - performance.now();
    if (aheadMs > 1) await pause(aheadMs);
    if ((row + 1) % reportEvery === 0) report(done, `row ${row + 1}/${size}`);
  }
  return pixels;
};

const report = (progress: number, liveStatus: string): void => {
  process.stdout.write(`${JSON.stringify({ progress, live_status: liveStatus })}\n`);
};

const refuse = (problems: readonly string[]): void => {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
};

await main();
