import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ProgressReport, RunResult } from '../../src/runner/runner.ts';

/** What each runner must be able to execute for this suite. */
export type Workload =
  /** Reports 0.25 with `row 1/2`, then 1; writes text `one`, seed 7, text `two`; leaves `frames/1.png` with 5 bytes. */
  | 'succeeds with text and a file'
  /** Fails with the message `size is too large`. */
  | 'fails'
  /** Leaves `half.png`, and fails. */
  | 'fails after a file'
  /** Ends without a message, as after a crash. */
  | 'crashes'
  /** Reports 0.5; when it is cancelled, leaves `tidied` and ends. */
  | 'ends when it is cancelled'
  /** Reports 0.5, and ignores a cancel. */
  | 'ignores a cancel'
  /** Leaves `begun`. */
  | 'leaves a file'
  /** Writes tens of megabytes that are no message, and then text `last`. */
  | 'floods its output'
  /** Writes 280 KB of text outputs. */
  | 'writes too much text'
  /** Succeeds without reading its input. */
  | 'ignores its input';

export interface StartedRun {
  readonly result: Promise<RunResult>;
  readonly reports: readonly ProgressReport[];
  /** What the runner logged. */
  readonly logged: readonly object[];
  readonly cancel: () => void;
  readonly outputDir: string;
  readonly workFolder: string;
}

interface StartOptions {
  readonly slot?: number;
  /** Instead of a small one. */
  readonly workflow?: unknown;
}

export interface RunnerUnderTest {
  start(workload: Workload, options?: StartOptions): Promise<StartedRun>;
}

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

/** The contract of `Runner`: every runner passes this suite. */
export const describeRunner = (
  title: string,
  open: (options: { readonly graceMs: number }) => Promise<RunnerUnderTest>,
): void => {
  const start = async (workload: Workload, options?: StartOptions): Promise<StartedRun> =>
    (await open({ graceMs: 60_000 })).start(workload, options);

  // oxlint-disable-next-line vitest/valid-title -- the title says which runner it is
  describe(title, () => {
    it('reports progress, writes text outputs and leaves files', async () => {
      const { result, reports } = await start('succeeds with text and a file');
      expect(await result).toMatchObject({
        outcome: 'succeeded',
        data: { text: ['one', 'two'], seed: ['7'] },
        files: [{ filename: '1.png', subfolder: 'frames', bytes: 5 }],
      });
      expect(reports).toEqual([
        { progress: 0.25, live_status: 'row 1/2' },
        { progress: 1, live_status: 'row 1/2' },
      ]);
    });

    it('leaves nothing in the work folder but the outputs', async () => {
      const { result, workFolder } = await start('succeeds with text and a file');
      await result;
      expect(readdirSync(workFolder)).toEqual(['outputs']);
    });

    it('fails with a message for the user', async () => {
      const { result } = await start('fails');
      expect(await result).toMatchObject({
        outcome: 'failed',
        message: expect.stringContaining('size is too large'),
      });
    });

    it('keeps the files that exist when it fails', async () => {
      const { result } = await start('fails after a file');
      expect(await result).toMatchObject({ outcome: 'failed', files: [{ filename: 'half.png' }] });
    });

    it('fails when the workflow crashes', async () => {
      const { result } = await start('crashes');
      expect(await result).toMatchObject({ outcome: 'failed', files: [] });
    });

    it('lets a cancelled workflow clean up, and keeps its files', async () => {
      const run = await start('ends when it is cancelled');
      await until(() => run.reports.length > 0);
      run.cancel();
      expect(await run.result).toMatchObject({
        outcome: 'cancelled',
        forced: false,
        files: [{ filename: 'tidied' }],
      });
    });

    it('ends a workflow by force when it ignores a cancel for the grace period', async () => {
      const run = await (await open({ graceMs: 200 })).start('ignores a cancel');
      await until(() => run.reports.length > 0);
      run.cancel();
      expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: true });
    });

    it('does not begin a cancelled run', async () => {
      const run = await start('leaves a file');
      run.cancel();
      expect(await run.result).toMatchObject({ outcome: 'cancelled', files: [] });
      expect(existsSync(join(run.outputDir, 'begun'))).toBe(false);
    });

    it('reads a flood of output, and logs a bounded part of it', async () => {
      const { result, logged } = await start('floods its output');
      expect(await result).toMatchObject({ outcome: 'succeeded', data: { text: ['last'] } });
      expect(JSON.stringify(logged).length).toBeLessThan(10_000_000);
    });

    it('fails when its text outputs are too large', async () => {
      const { result } = await start('writes too much text');
      expect(await result).toMatchObject({
        outcome: 'failed',
        message: expect.stringContaining('larger than 256 KiB'),
      });
    });

    it('succeeds when the workflow does not read a large input', async () => {
      const { result } = await start('ignores its input', { workflow: { text: 'x'.repeat(2_000_000) } });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
    });

    it('executes runs in two slots at once, and cancels one without the other', async () => {
      const runner = await open({ graceMs: 60_000 });
      const one = await runner.start('ends when it is cancelled', { slot: 0 });
      const other = await runner.start('ends when it is cancelled', { slot: 1 });
      await until(() => one.reports.length > 0 && other.reports.length > 0);
      one.cancel();
      expect(await one.result).toMatchObject({ outcome: 'cancelled', files: [{ filename: 'tidied' }] });
      expect(existsSync(join(other.outputDir, 'tidied'))).toBe(false);
      other.cancel();
      expect(await other.result).toMatchObject({ outcome: 'cancelled', files: [{ filename: 'tidied' }] });
    });
  });
};
