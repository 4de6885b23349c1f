import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readStat } from '../../../src/supervision/stray-processes.ts';
import { processesOfRuns, supervisorsOf } from '../../fixtures/marked-processes.ts';
import type { RunResult } from '../../../src/runners/runner.ts';
import { isolations } from '../../fixtures/isolations.ts';
import { openPrograms } from '../../runners/program/run-a-program.ts';

const until = (condition: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 20 });

const whole = `echo '{"output": {"text": "whole"}}'`;
describe.each(isolations)('a supervisor %s', (_, isolation) => {
  it('takes the next program', async () => {
    const start = await openPrograms({ isolation });
    const [first, ...others] = Array.from({ length: 10 }, (_, slot) => slot);
    const one = start('exit 0', { slot: first ?? 0 });
    await one.result;
    const supervisors = await supervisorsOf(one.workFolder);
    for (const slot of others) await start('exit 0', { slot }).result;
    expect(await supervisorsOf(one.workFolder)).toEqual(supervisors);
  });

  it('is replaced when it is killed between two programs', async () => {
    const start = await openPrograms({ isolation });
    const one = start('exit 0');
    await one.result;
    const killed = await supervisorsOf(one.workFolder);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await until(() => killed.every((pid) => !existsSync(`/proc/${pid}`)));
    expect(await start(whole, { slot: 1 }).result).toMatchObject({ data: { text: ['whole'] } });
  });

  it('takes its program with it when it is killed', async () => {
    const start = await openPrograms({ isolation });
    const run = start(`trap '' TERM; setsid sleep 600 & echo '{"progress": 0.5}'; wait; sleep 600`);
    await until(() => run.reports.length > 0);
    for (const pid of await supervisorsOf(run.workFolder)) process.kill(pid, 'SIGKILL');
    expect(await run.result).toMatchObject({ outcome: 'failed' });
    expect(await processesOfRuns(run.workFolder)).toEqual([]);
  });

  it('leaves nothing of a program that starts processes as fast as it can', async () => {
    const start = await openPrograms({ isolation });
    const script = `setsid sh -c 'while :; do sleep 600 & done' & sleep 0.1; exit 0`;
    const run = start(script);
    expect(await run.result).toMatchObject({ outcome: 'succeeded' });
    expect(await processesOfRuns(run.workFolder)).toEqual([]);
  });

  it('ends a stopped program by force', async () => {
    const start = await openPrograms({ isolation, graceMs: 100 });
    const run = start('kill -STOP $$; sleep 600');
    const states = async (): Promise<(string | undefined)[]> =>
      Promise.all((await processesOfRuns(run.workFolder)).map(async (pid) => (await readStat(pid))?.state));
    await until(async () => (await states()).includes('T'));
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: true });
    expect(await processesOfRuns(run.workFolder)).toEqual([]);
  });

  it('keeps the output of a process that was left behind out of the next run', async () => {
    const start = await openPrograms({ isolation });
    const babble = `touch "$1"; while echo '{"output": {"text": "old"}}'; do sleep 0.05; done`;
    // Without its environment it has no mark.
    const away = '"$RUNLEDGER_OUTPUT_DIR/away"';
    const script = `env -i /usr/bin/setsid /bin/sh -c '${babble.replaceAll("'", `'"'"'`)}' sh ${away} &
      until test -e ${away}; do sleep 0.05; done`;
    expect(await start(script).result).toMatchObject({ outcome: 'succeeded' });
    const next = start(`sleep 0.5; ${whole}`, { slot: 1 });
    expect(await next.result).toMatchObject({ outcome: 'succeeded', data: { text: ['whole'] } });
  });

  it('ends with its program only, when the program of another slot kills its own', async () => {
    const start = await openPrograms({ isolation });
    const other = start(
      `echo '{"progress": 0.5}'; cat >/dev/null; while ! test -e "$RUNLEDGER_OUTPUT_DIR/go"; do sleep 0.05; done`,
    );
    await until(() => other.reports.length > 0);
    const one = start('kill -9 $PPID; sleep 0.2; exit 4', { slot: 1 });
    expect(await one.result).toMatchObject({ outcome: 'failed' });
    // It is in the place of the supervisor meanwhile.
    const places = readdirSync(other.placeFolder, { encoding: 'utf8', recursive: true });
    const outputs = places.find((path) => basename(path) === basename(other.outputDir)) ?? '';
    writeFileSync(join(other.placeFolder, outputs, 'go'), '');
    expect(await other.result).toMatchObject({ outcome: 'succeeded' });
  });
});

const inNamespace = isolations.find(([title]) => title === 'in a PID namespace')?.[1];

describe.skipIf(inNamespace === undefined)('a PID namespace', () => {
  /** The results of one program, and of another after the first supervisor has ended. */
  const inTwoNamespaces = async (script: string, next: string): Promise<RunResult[]> => {
    const start = await openPrograms(inNamespace === undefined ? {} : { isolation: inNamespace });
    const one = start(script);
    const result = await one.result;
    await until(async () => (await supervisorsOf(one.workFolder)).length === 0);
    return [result, await start(next, { slot: 1 }).result];
  };

  it('is left for a new one when it has many dead processes', async () => {
    const script = 'for n in $(seq 100); do (true &); done; sleep 0.2';
    const results = await inTwoNamespaces(script, '! test -e /proc/50');
    expect(results).toMatchObject([{ outcome: 'succeeded' }, { outcome: 'succeeded' }]);
  });
});
