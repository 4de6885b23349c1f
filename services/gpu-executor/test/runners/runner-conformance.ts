import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { RunResult } from '../../src/runners/runner.ts';
import { openOnce } from '../fixtures/at-the-end.ts';
import type { Reported } from './observed.ts';

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
  /** Writes the lines `one` and `two` to its log, with a message between them. */
  | 'writes its log'
  /** Puts these out, of the kind `json` or without a kind: `JSON_VALUES`. */
  | 'puts out JSON values'
  /** Leaves `begun`. */
  | 'leaves a file'
  /** Writes megabytes that are no message, and then text `last`. */
  | 'floods its output'
  /** Writes 280 KB of text outputs. */
  | 'writes too much text'
  /** Leaves `copy`, the content of the input file that its input `picture` names. */
  | 'copies an input file'
  /** Succeeds without reading its input. */
  | 'ignores its input';

/** Values that are no texts, and a text among them. */
export const JSON_VALUES = [
  {
    boxes: [
      [1, 2],
      [3.5, null],
    ],
  },
  'a text',
  null,
  true,
] as const;

export interface StartedRun extends Reported {
  readonly result: Promise<RunResult>;
  /** What the runner logged. */
  readonly logged: readonly object[];
  readonly cancel: () => void;
  readonly outputDir: string;
  readonly workFolder: string;
}

export interface StartOptions {
  readonly org_id?: string;
  readonly deployment_id?: string;
  readonly slot?: number;
  /** Which run of the slot it is, from 0. */
  readonly nth?: number;
  /** Instead of a small one. */
  readonly workflow?: unknown;
  /** False: the run was stopped before it began. */
  readonly mayBegin?: boolean;
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** The contents of the input files, by name. */
  readonly inputFiles?: Readonly<Record<string, string>>;
  /** The names of the inputs that are files. */
  readonly fileInputs?: readonly string[];
  readonly secretInputs?: readonly string[];
  readonly secrets?: Readonly<Record<string, string>>;
}

export interface RunnerUnderTest {
  start(workload: Workload, options?: StartOptions): Promise<StartedRun>;
}

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

/** A runner may say that it is loading before. */
const isUnderWay = ({ reports }: Reported): boolean => reports.some(({ progress }) => progress > 0);

/** Of the run, or of the one node that it has. */
const dataOf = (result: RunResult): object | undefined =>
  result.outcome === 'succeeded' ? (result.nodes?.[0]?.data ?? result.data) : undefined;

/** The contract of `Runner`: every runner passes this suite. */
export const describeRunner = (
  title: string,
  open: (options: { readonly graceMs: number }) => Promise<RunnerUnderTest>,
): void => {
  const alone = async (workload: Workload): Promise<StartedRun> =>
    (await open({ graceMs: 60_000 })).start(workload);

  // oxlint-disable-next-line vitest/valid-title -- the title says which runner it is
  describe(title, () => {
    const runner = openOnce(() => open({ graceMs: 60_000 }));
    let runs = 0;
    /** As an executor does: one runner, which has one run after the other. */
    const start = (workload: Workload, options?: StartOptions): Promise<StartedRun> =>
      runner().start(workload, { nth: (runs += 1), ...options });

    it('begins once, reports progress, writes text outputs, and leaves nothing but its files', async () => {
      const { result, reports, begun, workFolder } = await alone('succeeds with text and a file');
      expect(dataOf(await result)).toEqual({ text: ['one', 'two'], seed: ['7'] });
      expect(await result).toMatchObject({
        outcome: 'succeeded',
        files: [{ filename: '1.png', subfolder: 'frames', bytes: 5 }],
      });
      expect(begun).toEqual([expect.any(Number)]);
      expect(reports.filter(({ progress }) => progress > 0)).toEqual([
        { progress: 0.25, live_status: 'row 1/2' },
        { progress: 1, live_status: 'row 1/2' },
      ]);
      expect(readdirSync(workFolder)).toEqual(['outputs']);
    });

    it('executes nothing when the run must not begin any more', async () => {
      const { result, outputDir } = await start('leaves a file', { mayBegin: false });
      expect(await result).toEqual({ outcome: 'cancelled', forced: false, files: [] });
      expect(existsSync(outputDir)).toBe(false);
    });

    it('shows the lines of its log, and no messages', async () => {
      const { result, lines } = await start('writes its log');
      await result;
      expect(lines.map(({ line }) => line)).toEqual(['one', 'two']);
    });

    it('shows JSON values as they are', async () => {
      const { result } = await start('puts out JSON values');
      expect(dataOf(await result)).toEqual({
        json: ['{"boxes":[[1,2],[3.5,null]]}', '"a text"', 'null', 'true'],
      });
    });

    it('finds the files of its inputs in a folder', async () => {
      const { result, outputDir } = await start('copies an input file', {
        inputs: { picture: 'picture.png' },
        inputFiles: { 'picture.png': '12345' },
        fileInputs: ['picture'],
      });
      expect(await result).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'copy' }] });
      expect(readFileSync(join(outputDir, 'copy'), 'utf8')).toBe('12345');
    });

    it('fails with a message for the user', async () => {
      const { result } = await start('fails');
      expect(await result).toMatchObject({
        outcome: 'failed',
        error: { message: expect.stringContaining('size is too large'), retryable: true },
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
      await until(() => isUnderWay(run));
      run.cancel();
      expect(await run.result).toMatchObject({
        outcome: 'cancelled',
        forced: false,
        files: [{ filename: 'tidied' }],
      });
    });

    it('ends a workflow by force when it ignores a cancel for the grace period', async () => {
      const run = await (await open({ graceMs: 200 })).start('ignores a cancel');
      await until(() => isUnderWay(run));
      run.cancel();
      expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: true });
    });

    it('does not begin a cancelled run', async () => {
      const run = await alone('leaves a file');
      run.cancel();
      expect(await run.result).toMatchObject({ outcome: 'cancelled', files: [] });
      expect(existsSync(join(run.outputDir, 'begun'))).toBe(false);
    });

    it('reads a flood of output, and logs a bounded part of it', async () => {
      const { result, logged } = await alone('floods its output');
      expect(dataOf(await result)).toEqual({ text: ['last'] });
      expect(JSON.stringify(logged).length).toBeLessThan(100_000);
    });

    it('fails when its text outputs are too large', async () => {
      const { result } = await start('writes too much text');
      expect(await result).toMatchObject({
        outcome: 'failed',
        error: { kind: 'output_too_large', message: expect.stringContaining('larger than 256 KiB') },
      });
    });

    it('succeeds when the workflow does not read a large input', async () => {
      const { result } = await start('ignores its input', { workflow: { text: 'x'.repeat(2_000_000) } });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
    });

    it.each(['succeeds with text and a file', 'fails', 'crashes', 'ignores its input'] as const)(
      'executes a run after another one of its slot that %s',
      async (first) => {
        await (
          await start(first)
        ).result;
        const { result } = await start('succeeds with text and a file');
        expect(dataOf(await result)).toMatchObject({ text: ['one', 'two'] });
      },
    );

    it('executes runs in two slots at once, and cancels one without the other', async () => {
      const one = await start('ends when it is cancelled', { slot: 0 });
      const other = await start('ends when it is cancelled', { slot: 1 });
      await until(() => isUnderWay(one) && isUnderWay(other));
      one.cancel();
      expect(await one.result).toMatchObject({ outcome: 'cancelled', files: [{ filename: 'tidied' }] });
      expect(existsSync(join(other.outputDir, 'tidied'))).toBe(false);
      other.cancel();
      expect(await other.result).toMatchObject({ outcome: 'cancelled', files: [{ filename: 'tidied' }] });
    });
  });
};
