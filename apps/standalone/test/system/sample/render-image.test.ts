import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { PALETTE_NAMES } from '../../../src/sample/palettes.ts';
import { startSample, type Sample } from './start-sample.ts';

const reportsOf = (sample: Sample): { progress: number; live_status: string }[] =>
  sample.lines().map((line) => JSON.parse(line));

const picture = (sample: Sample): PNG =>
  PNG.sync.read(readFileSync(join(sample.outputFolder, 'mandelbrot.png')));

const coloursOf = (png: PNG): number =>
  new Set(Array.from({ length: png.width * png.height }, (_, at) => png.data.readUInt32BE(at * 4))).size;

describe('the sample program', () => {
  it('writes a picture of the requested size with many colours', async () => {
    const sample = startSample({ size: 96, seconds: 0 });
    expect(await sample.exited).toEqual({ code: 0, signal: null });
    const png = picture(sample);
    expect([png.width, png.height]).toEqual([96, 96]);
    expect(coloursOf(png)).toBeGreaterThan(1000);
    expect(readdirSync(sample.outputFolder)).toEqual(['mandelbrot.png']);
  });

  it('reports rising progress up to 1 with the current row', async () => {
    const sample = startSample({ size: 64, seconds: 0.2 });
    await sample.exited;
    const reports = reportsOf(sample);
    const progress = reports.map((report) => report.progress);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
    expect(reports[9]).toEqual({ progress: 10 / 64, live_status: 'row 10/64' });
  });

  it('takes about the requested time, and works all the time', async () => {
    const startedAt = performance.now();
    const sample = startSample({ size: 32, seconds: 1 });
    await waitFor('half of the work', () => reportsOf(sample).some(({ progress }) => progress >= 0.5));
    const half = performance.now() - startedAt;
    await sample.exited;
    const whole = performance.now() - startedAt;
    expect(whole).toBeGreaterThanOrEqual(1000);
    expect(half).toBeLessThan(whole);
  });

  it.each(PALETTE_NAMES)('paints in the palette %s', async (palette) => {
    const sample = startSample({ size: 32, seconds: 0, palette });
    expect(await sample.exited).toEqual({ code: 0, signal: null });
    expect(coloursOf(picture(sample))).toBeGreaterThan(200);
  });

  it('paints each palette differently', async () => {
    const pictures = await Promise.all(
      PALETTE_NAMES.map(async (palette) => {
        const sample = startSample({ size: 16, seconds: 0, palette });
        await sample.exited;
        return picture(sample).data.toString('hex');
      }),
    );
    expect(new Set(pictures).size).toBe(PALETTE_NAMES.length);
  });

  it('stops at once on SIGTERM, without an output file', async () => {
    const sample = startSample({ size: 64, seconds: 20 });
    await waitFor('the first report', () => sample.lines().length > 0);
    sample.kill('SIGTERM');
    expect(await sample.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(readdirSync(sample.outputFolder)).toEqual([]);
  });
});

describe('an invalid input of the sample', () => {
  it.each([
    [{ size: 15 }, 'size is 15; it must be a whole number from 16 to 2048.'],
    [{ size: 2049 }, 'size is 2049; it must be a whole number from 16 to 2048.'],
    [{ size: 99.5 }, 'size is 99.5; it must be a whole number from 16 to 2048.'],
    [{ size: '512' }, 'size is "512"; it must be a whole number from 16 to 2048.'],
    [{ size: [512] }, 'size is [512]; it must be a whole number from 16 to 2048.'],
    [{ size: true }, 'size is true; it must be a whole number from 16 to 2048.'],
    [{ iterations: 1e9 }, 'iterations is 1000000000; it must be a whole number from 16 to 5000.'],
    [{ seconds: -1 }, 'seconds is -1; it must be a number from 0 to 600.'],
    [{ seconds: 601 }, 'seconds is 601; it must be a number from 0 to 600.'],
    [{ palette: 'mauve' }, 'palette is "mauve"; it must be one of lagoon, ember, aurora, graphite.'],
    [{ palette: 'toString' }, 'palette is "toString"; it must be one of lagoon, ember, aurora, graphite.'],
    [[], 'inputs is []; it must be an object.'],
  ])('is refused with the valid values: %j', async (inputs, sentence) => {
    const sample = startSample(inputs);
    expect(await sample.exited).toEqual({ code: 1, signal: null });
    expect(sample.stderr()).toBe(`${sentence}\n`);
    expect(readdirSync(sample.outputFolder)).toEqual([]);
  });

  it('is reported together with all others', async () => {
    const sample = startSample({ size: 1, seconds: 'long', palette: 7 });
    await sample.exited;
    expect(sample.stderr().trim().split('\n')).toHaveLength(3);
  });

  it('is refused if it is not JSON', async () => {
    const sample = startSample({}, { stdin: '{"inputs":' });
    expect(await sample.exited).toEqual({ code: 1, signal: null });
    expect(sample.stderr()).toMatch(/standard input is not a JSON object/);
  });

  it('is refused if the workflow has no scene', async () => {
    const sample = startSample({}, { workflow: { scene: { x: 0, y: 0, width: 0 } } });
    expect(await sample.exited).toEqual({ code: 1, signal: null });
    expect(sample.stderr()).toMatch(/the workflow has no scene/);
  });
});
