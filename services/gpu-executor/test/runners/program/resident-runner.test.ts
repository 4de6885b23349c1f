import { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, vi } from 'vitest';
import type { RunResult } from '../../../src/runners/runner.ts';
import { temporaryFolder } from './run-a-program.ts';
import { bareProgram, openResidentProgram, PROGRAMS } from './run-a-resident-program.ts';

const TOKEN = 'hunter2-hunter2';

const textOf = (result: RunResult): readonly string[] | undefined =>
  result.outcome === 'succeeded' ? result.data['text'] : undefined;

/** What is special about resident programs; the contract of every runner is in `../runner-conformance.ts`. */
describe('a resident program', () => {
  it('stays loaded: the second run of a slot waits for nothing, and has the same process', async () => {
    const start = await openResidentProgram(bareProgram());
    const first = start('says its process');
    const process = textOf(await first.result);
    expect(first.begun[0]).toBeGreaterThan(0);
    expect(first.reports).toEqual([
      { progress: 0, live_status: 'loading test' },
      { progress: 0, live_status: null },
    ]);
    const second = start('says its process', { nth: 1 });
    expect(textOf(await second.result)).toEqual(process);
    expect(second.begun).toEqual([0]);
    expect(second.reports).toEqual([]);
    // Each slot has its own.
    expect(textOf(await start('says its process', { slot: 1 }).result)).not.toEqual(process);
  });

  it('is started anew for the next run when its code has changed, and each run says which code it had', async () => {
    const folder = temporaryFolder();
    const program = join(folder, 'bare.mjs');
    copyFileSync(join(PROGRAMS, 'bare.mjs'), program);
    const start = await openResidentProgram({ ...bareProgram(), args: [program] });
    const ran = async (nth: number) => {
      const run = start('says its process', { nth });
      return { process: textOf(await run.result)?.[0], code: run.codes[0] };
    };
    const [first, second] = [await ran(0), await ran(1)];
    expect(first.code).toMatch(/^[0-9a-f]{64}$/);
    expect(second).toEqual(first);
    appendFileSync(program, '// another release');
    let nth = 2;
    // Runs that follow each other fast do not look at the code again.
    const untilChanged = (code: string | null | undefined) =>
      waitFor('other code', async () => {
        const run = await ran((nth += 1));
        return run.code === code ? undefined : run;
      });
    const third = await untilChanged(first.code);
    expect(third.process).not.toBe(first.process);
    expect(await ran((nth += 1))).toEqual(third);
    // Back to what it was: the same code again.
    copyFileSync(join(PROGRAMS, 'bare.mjs'), program);
    nth += 1;
    expect((await untilChanged(third.code)).code).toBe(first.code);
  });

  it('is free for the next run when it cannot get the folders of one', async () => {
    const start = await openResidentProgram(bareProgram());
    const process = textOf(await start('says its process').result);
    const failing = start('says its process', { nth: 1 });
    const [place = ''] = readdirSync(failing.processFolder).filter((name) => name.startsWith('tmp-'));
    mkdirSync(join(failing.processFolder, place, basename(failing.outputDir)));
    await expect(failing.result).rejects.toThrow('EEXIST');
    expect(textOf(await start('says its process', { nth: 2 }).result)).toEqual(process);
  });

  it('cannot put what it leaves of one run into the outputs of the next one', async () => {
    const start = await openResidentProgram(bareProgram());
    const first = start('stays in its output folder');
    expect(await first.result).toMatchObject({ outcome: 'succeeded', files: [] });
    const second = start('writes where it is, and where the last run had its outputs', { nth: 1 });
    expect(await second.result).toMatchObject({ outcome: 'succeeded', files: [] });
    const third = start('leaves a file', { nth: 2 });
    expect(await third.result).toMatchObject({ files: [{ filename: 'begun' }] });
  });

  it('has an empty input folder in a run without files, also after a run that wrote there', async () => {
    const start = await openResidentProgram(bareProgram());
    expect(textOf(await start('lists its input folder').result)).toEqual(['']);
    await start('writes into its input folder', { nth: 1 }).result;
    expect(textOf(await start('lists its input folder', { nth: 2 }).result)).toEqual(['']);
    const inputFiles = { picture: '12345' };
    expect(textOf(await start('lists its input folder', { nth: 3, inputFiles }).result)).toEqual(['picture']);
    expect(textOf(await start('lists its input folder', { nth: 4 }).result)).toEqual(['']);
  });

  it('finds no output folder when it makes that itself', async () => {
    const found = async (env: Record<string, string>): Promise<readonly string[] | undefined> => {
      const start = await openResidentProgram(bareProgram(env));
      return textOf(await start('says whether it has an output folder').result);
    };
    expect(await found({})).toEqual(['true']);
    expect(await found({ MAKES_OUTPUT_DIR: 'yes' })).toEqual(['false']);
    const start = await openResidentProgram(bareProgram({ MAKES_OUTPUT_DIR: 'yes' }));
    expect(await start('makes its output folder', { nth: 1 }).result).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: 'made' }],
    });
  });

  it('gets the run as one line', async () => {
    const start = await openResidentProgram(bareProgram());
    expect(JSON.parse(textOf(await start('returns its run').result)?.[0] ?? '')).toEqual([
      'type',
      'run_id',
      'attempt',
      'workflow',
      'inputs',
      'gpu',
      'output_dir',
      'input_dir',
    ]);
  });

  it('is not believed about another run, and what is no message is its log', async () => {
    const start = await openResidentProgram(bareProgram());
    const { result, lines } = start('speaks for another run');
    expect(textOf(await result)).toEqual(['right']);
    expect(lines).toHaveLength(6);
  });

  it('that writes no marks has all in the log of a run that it wrote before its end', async () => {
    const start = await openResidentProgram(bareProgram());
    for (let n = 0; n < 30; n += 1) {
      const { result, lines } = start('writes to both streams, and ends at once', { nth: n, inputs: { n } });
      await result;
      const errors = Array.from({ length: 2_000 }, () => `${n}: error`);
      expect(lines.map(({ line }) => line).toSorted()).toEqual([...errors, `${n}: out`]);
    }
  });

  it('says why a run failed, and whether it may succeed another time', async () => {
    const start = await openResidentProgram(bareProgram({ TOKEN }));
    expect(await start('fails for good').result).toMatchObject({
      error: { kind: 'execution_error', message: '$TOKEN is wrong', retryable: false },
    });
    expect(await start('fails after a file', { nth: 1 }).result).toMatchObject({
      error: { kind: 'execution_error', message: 'no memory', retryable: true },
    });
  });

  it.each([
    [
      4,
      {
        kind: 'program_exit',
        exit_code: 4,
        message: expect.stringContaining('ended with exit code 4.\nthe end of'),
      },
    ],
    [
      0,
      {
        kind: 'crashed',
        message: expect.stringContaining('before it said that the run is done.\nthe end of'),
      },
    ],
  ])('that ends with exit code %i in a run fails it with what it wrote', async (code, error) => {
    const start = await openResidentProgram(bareProgram({ TOKEN }));
    const { result } = start('ends after it', { inputs: { code } });
    expect(await result).toMatchObject({ outcome: 'failed', error });
    expect(await result).toMatchObject({
      error: { message: expect.stringMatching(/\$TOKEN in \$output_dir$/) },
    });
  });

  it('does not show one client what it wrote in the run of another', async () => {
    const start = await openResidentProgram(bareProgram());
    await start('floods its output').result;
    expect(await start('crashes', { nth: 1 }).result).toMatchObject({
      error: { kind: 'program_signal', signal: 'SIGKILL', message: 'The program test was ended by SIGKILL.' },
    });
  });

  it('that cannot be loaded fails the run with what it wrote', async () => {
    const start = await openResidentProgram(bareProgram({ TOKEN, FAILS_TO_START: 'yes' }));
    const run = start('leaves a file');
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'setup_failed', exit_code: 3, message: expect.stringContaining('no weights in $TOKEN') },
    });
    expect(run.begun).toEqual([]);
  });

  it('that is not ready in time fails the run', async () => {
    const limits = { ...bareProgram().limits, startTimeoutMs: 300 };
    const start = await openResidentProgram({
      ...bareProgram(),
      command: '/bin/sleep',
      args: ['600'],
      limits,
    });
    expect(await start('leaves a file').result).toMatchObject({
      error: { kind: 'setup_failed', message: 'The program test was not ready within 0.3 s.' },
    });
  });

  it('that cannot be executed makes the run not runnable', async () => {
    const start = await openResidentProgram({ ...bareProgram(), command: '/no/such/program' });
    expect(await start('leaves a file').result).toMatchObject({
      outcome: 'not_runnable',
      why: 'The program test cannot be started: ENOENT.',
    });
  });

  it('may write one text as large as all outputs together may be, and no output that is no JSON', async () => {
    const start = await openResidentProgram(bareProgram());
    expect(textOf(await start('writes one long text').result)?.[0]).toHaveLength(200_000);
    expect(await start('leaves an invalid output', { nth: 1 }).result).toMatchObject({
      error: {
        kind: 'invalid_output',
        retryable: false,
        message: expect.stringContaining('"text":["a "quote""]}'),
      },
    });
  });

  it('ends the run of a cancel while it is loading, at once', async () => {
    const start = await openResidentProgram({ ...bareProgram(), command: '/bin/sleep', args: ['600'] });
    const run = start('leaves a file');
    run.cancel();
    expect(await run.result).toEqual({ outcome: 'cancelled', forced: false, files: [] });
    expect(existsSync(run.outputDir)).toBe(false);
  });

  it('that ignored a cancel and was killed is there again for the next run, without back-off', async () => {
    const start = await openResidentProgram(bareProgram(), { graceMs: 200 });
    const first = start('ignores a cancel');
    await vi.waitUntil(() => first.reports.some(({ progress }) => progress > 0), { timeout: 20_000 });
    first.cancel();
    expect(await first.result).toMatchObject({ outcome: 'cancelled', forced: true });
    expect(await start('leaves a file', { nth: 1 }).result).toMatchObject({ outcome: 'succeeded' });
  });
});
