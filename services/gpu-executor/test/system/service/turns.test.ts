import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { head } from '@runledger/event-log/read/read-run';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AssignedRun } from '../../fixtures/assigned-run.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

const [A, B] = [newUuid(), newUuid()];

/** Says in a folder of all which organisation it is of while it runs, and says what it finds there. A file with the name of the organisation lets it end. */
const ONCE = `touch "$SHARED/at-work/$ORG.$RUNLEDGER_RUN_ID"
  echo '{"progress": 0.5, "live_status": "at work"}'
  until [ -e "$SHARED/end-$ORG" ]; do sleep 0.05; done
  echo '{"output": {"text": ["'"$(ls "$SHARED/at-work" | sed 's/[.].*//' | sort -u | tr '\\n' ' ')"'"]}}'
  rm "$SHARED/at-work/$ORG.$RUNLEDGER_RUN_ID"`;
/** Is at work as long as it lives: only its end takes its file away. */
const KEPT = `touch "$SHARED/at-work/$ORG.kept"; echo '{"type":"ready"}'
  while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done
  rm "$SHARED/at-work/$ORG.kept"`;

interface TurnsTestBed extends AsyncDisposable {
  readonly service: ServiceTestBed;
  /** What programs of the organisation wait for. */
  readonly end: (org: 'a' | 'b') => void;
  readonly texts: (run: AssignedRun) => Promise<unknown>;
  readonly status: (run: AssignedRun) => Promise<string | null | undefined>;
}

const startWithOneUser = async (env: Record<string, string> = {}): Promise<TurnsTestBed> => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'turns-'));
  onTestFinished(() => folder.remove());
  mkdirSync(join(folder.path, 'at-work'));
  for (const path of [folder.path, join(folder.path, 'at-work')]) chmodSync(path, 0o777);
  const program = (org: string, script: string, more: object = {}): object => ({
    command: 'sh',
    args: ['-c', script],
    env: { ORG: org, SHARED: folder.path },
    writable: [folder.path],
    ...more,
  });
  const kept = { mode: 'resident' };
  const service = await startService({
    EXECUTOR_PROGRAMS: JSON.stringify({
      a: program('a', ONCE),
      b: program('b', ONCE),
      'a-kept': program('a', KEPT, kept),
      'of-all': program('all', KEPT, { ...kept, shared: true }),
    }),
    EXECUTOR_RUN_AS: '65534:65534',
    ...env,
  });
  const outputsOf = (event: RunEvent): unknown =>
    'outputs' in event.data && event.data.outputs?.map((output) => 'data' in output && output.data);
  return {
    service,
    end: (org) => writeFileSync(join(folder.path, `end-${org}`), ''),
    texts: async (run) => outputsOf(await service.fact(run, 'RunSucceeded')),
    status: async (run) => (await lastProgress(service.log, run, 1, service.executor))?.live_status,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
};

const sees = (...organisations: readonly string[]): unknown => [
  { text: [expect.stringMatching(new RegExp(`^${organisations.join(' ')} ?$`))] },
];

describe.runIf(getuid?.() === 0)('an executor whose programs have one user', () => {
  it('never runs programs of two organisations at once, on however many slots', async () => {
    await using bed = await startWithOneUser();
    const { service, end } = bed;
    const { run: first } = await service.assign('a', { slot: 0 }, A);
    await waitFor('the program of A', async () => (await bed.status(first)) === 'at work');
    const { run: second } = await service.assign('b', { slot: 1 }, B);
    await waitFor('B to wait', async () => (await bed.status(second))?.includes('organisations take turns'));
    expect((await service.facts(second)).map(({ type }) => type)).toEqual(['RunQueued', 'RunAssigned']);
    end('b');
    end('a');
    expect(await bed.texts(first)).toEqual(sees('a'));
    expect(await bed.texts(second)).toEqual(sees('b'));
    expect(service.output()).toContain('organisations take turns on this executor');
  });

  it('runs those of one organisation at once', async () => {
    await using bed = await startWithOneUser();
    const runs = [
      await bed.service.assign('a', { slot: 0 }, A),
      await bed.service.assign('a', { slot: 1 }, A),
    ];
    for (const { run } of runs) await bed.service.fact(run, 'RunStarted');
    bed.end('a');
    for (const { run } of runs) expect(await bed.texts(run)).toEqual(sees('a'));
  });

  it('ends what an organisation keeps before the next one begins, in every slot, and leaves what is shared', async () => {
    await using bed = await startWithOneUser();
    const { service, end } = bed;
    const { run: keeping } = await service.assign('a-kept', { slot: 0 }, A);
    await service.fact(keeping, 'RunSucceeded');
    const { run: sharing } = await service.assign('of-all', { slot: 1 }, A);
    await service.fact(sharing, 'RunSucceeded');
    end('b');
    const { run: next } = await service.assign('b', { slot: 1 }, B);
    expect(await bed.texts(next)).toEqual(sees('all', 'b'));
  });

  it('lets a run be cancelled that waits for its turn, and who waits behind it goes on', async () => {
    await using bed = await startWithOneUser({ EXECUTOR_GPUS: 'A10G:3' });
    const { service, end } = bed;
    const { run: first } = await service.assign('a', { slot: 0 }, A);
    await service.fact(first, 'RunStarted');
    const { run: second } = await service.assign('b', { slot: 1 }, B);
    await waitFor('B to wait', async () => (await bed.status(second))?.includes('organisations take turns'));
    const { run: third } = await service.assign('a', { slot: 2 }, A);
    await waitFor('A to wait behind B', async () => (await bed.status(third))?.includes('take turns'));
    await service.append(second.cancelRequested, await head(service.log, second));
    expect(await service.fact(second, 'RunCancelled')).toMatchObject({ data: { forced: false } });
    await service.fact(third, 'RunStarted');
    end('a');
    await service.fact(third, 'RunSucceeded');
  });

  it('stops while a run waits, and stores nothing about it', async () => {
    await using bed = await startWithOneUser({ RUNLEDGER_STOP_WITHIN_S: '1' });
    const { service } = bed;
    const { run: first } = await service.assign('a', { slot: 0 }, A);
    await service.fact(first, 'RunStarted');
    const { run: second } = await service.assign('b', { slot: 1 }, B);
    await waitFor('B to wait', async () => (await bed.status(second))?.includes('organisations take turns'));
    service.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect((await service.facts(second)).map(({ type }) => type)).toEqual(['RunQueued', 'RunAssigned']);
  });

  it.each([
    ['without isolation', { EXECUTOR_ISOLATION: 'off', EXECUTOR_RUN_AS: '' }],
    ['where each supervisor has a user of its own', { EXECUTOR_RUN_AS: '' }],
  ])('is the reason: they run at once %s', async (_title, env) => {
    await using bed = await startWithOneUser(env);
    const { service, end } = bed;
    const { run: first } = await service.assign('a', { slot: 0 }, A);
    const { run: second } = await service.assign('b', { slot: 1 }, B);
    for (const run of [first, second])
      await waitFor('both', async () => (await bed.status(run)) === 'at work');
    end('a');
    expect(await bed.texts(first)).toEqual(sees('a', 'b'));
    end('b');
    await service.fact(second, 'RunSucceeded');
  });
});
