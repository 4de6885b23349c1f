import { beginTerm, announceTerm } from '@runledger/event-log/append/append-fleet';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

let service: ServiceTestBed;
/** For tests that freeze it, for less than a heartbeat period. */
let frozen: ServiceTestBed;
beforeAll(async () => {
  [service, frozen] = await Promise.all([
    startService(),
    startService({ RUNLEDGER_HEARTBEAT_PERIOD_S: '60' }),
  ]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await frozen[Symbol.asyncDispose]();
});

/** A leader takes over: the term of the one before it, and its own. */
const takeOver = async ({ log, executor }: ServiceTestBed): Promise<{ former: number; next: number }> => {
  const former = await beginTerm(log, 'former');
  const next = await beginTerm(log, 'next');
  await announceTerm(log, { term: next, instance: 'next', executor });
  return { former, next };
};

describe('an assignment that a former leader stores after the next one has told its term', () => {
  it('does not begin, is given back at once, and the next one begins', async () => {
    const { former, next } = await takeOver(service);
    const late = await service.assign('render', { term: former });
    const { data } = await service.fact(late.run, 'RunAttemptFailed');
    expect(data).toMatchObject({ error: { kind: 'not_runnable' }, retry_after_s: 0, is_void: true });
    const { run } = await service.assign('render', { term: next });
    await service.fact(run, 'RunSucceeded');
    const types = (await service.facts(late.run)).map(({ type }) => type);
    expect(types).toEqual(['RunQueued', 'RunAssigned', 'RunAttemptFailed']);
  });

  it('does not begin either when the executor was frozen while all that happened', async () => {
    frozen.kill('SIGSTOP');
    const { former, next } = await takeOver(frozen);
    const late = await frozen.assign('render', { term: former });
    const { run } = await frozen.assign('render', { term: next });
    frozen.kill('SIGCONT');
    await frozen.fact(run, 'RunSucceeded');
    expect(await frozen.fact(late.run, 'RunAttemptFailed')).toMatchObject({ data: { is_void: true } });
  });

  it('is given back at once while its slot is busy', async () => {
    const { former, next } = await takeOver(service);
    const { run } = await service.assign('held', { term: next });
    await service.fact(run, 'RunStarted');
    const late = await service.assign('render', { term: former });
    expect(await service.fact(late.run, 'RunAttemptFailed')).toMatchObject({ data: { is_void: true } });
    service.end();
    await service.fact(run, 'RunSucceeded');
  });

  it('is cancelled when a client has cancelled its run meanwhile', async () => {
    frozen.kill('SIGSTOP');
    const { former } = await takeOver(frozen);
    const late = await frozen.assign('render', { term: former });
    await frozen.append(late.run.cancelRequested, late.head);
    frozen.kill('SIGCONT');
    expect(await frozen.fact(late.run, 'RunCancelled')).toMatchObject({ data: { forced: false } });
  });
});

it('an executor that registers again knows the terms that began before, although nobody told it', async () => {
  const former = await beginTerm(service.log, 'former');
  await beginTerm(service.log, 'next');
  const { last_seq } = (await service.log.jsm.streams.info('FLEET')).state;
  // For longer than a heartbeat period.
  service.kill('SIGSTOP');
  const frozenMs = performance.now();
  await waitFor('the period to be over', () => performance.now() - frozenMs > 1_000);
  service.kill('SIGCONT');
  await waitFor(
    'another registration',
    async () => (await service.log.jsm.streams.info('FLEET')).state.last_seq > last_seq,
  );
  const late = await service.assign('render', { term: former });
  expect(await service.fact(late.run, 'RunAttemptFailed')).toMatchObject({ data: { is_void: true } });
});
