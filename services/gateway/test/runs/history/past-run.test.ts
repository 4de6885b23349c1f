import {
  assigned,
  aRun,
  failed,
  OTHER_EXECUTOR,
  outputsDeleted,
  queued,
  requeued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll, forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { sayCaughtUp, viewOf } from '../../fixtures/views/stale-views.ts';
import { archiveAll } from '../../archive/archived-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const get = ({ run_id }: { readonly run_id: string }, query = ''): Promise<ApiAnswer> =>
  call(`${gateway.api}/run/${run_id}${query}`, bed.tenant.key);
const second = { attempt: 2, executor: OTHER_EXECUTOR } as const;

describe('GET of a run as it was', () => {
  it('shows after each fact what GET showed then', async () => {
    const run = ownRun();
    const facts = [
      queued(run, { webhook: 'https://example.com/hook' }),
      assigned(run),
      started(run),
      requeued(run),
      assigned(run, second),
      started(run, 2, OTHER_EXECUTOR),
      uploading(run, 2, OTHER_EXECUTOR),
      { ...failed(run), attempt: 2, executor_id: OTHER_EXECUTOR },
    ];
    const then: [sequence: number, body: unknown][] = [];
    for (const fact of facts) then.push([await appendAll(bed.log, fact), (await get(run)).body]);
    for (const fact of [
      webhookStarted(run),
      webhookGivenUp(run),
      redeliveryRequested(run),
      webhookDelivered(run, 2),
    ])
      then.push([await appendWebhook(bed.log, fact), (await get(run)).body]);
    for (const [sequence, body] of then) {
      expect((await get(run, `?at_seq=${sequence}`)).body).toEqual(body);
    }
  });

  it('shows it at a time, and at a position between its facts', async () => {
    const run = ownRun();
    const first = await appendAll(bed.log, queued(run));
    await appendAll(bed.log, queued(ownRun()));
    const last = await appendAll(bed.log, assigned(run));
    expect((await get(run, `?at_seq=${first + 1}`)).body.status).toBe('queued');
    expect((await get(run, `?at_seq=${last}`)).body.status).toBe('started');
    const { created_at, updated_at } = (await get(run)).body;
    expect((await get(run, `?at=${updated_at}`)).body.status).toBe('started');
    // Both facts may have been stored in one millisecond.
    const atFirst = (await get(run, `?at=${created_at}`)).body.status;
    expect(atFirst).toBe(created_at === updated_at ? 'started' : 'queued');
    expect((await get(run, '?at=2999-01-01')).body.status).toBe('started');
  });

  it('is not found before it was queued', async () => {
    const run = ownRun();
    const before = await appendAll(bed.log, queued(ownRun()));
    await appendAll(bed.log, queued(run), assigned(run));
    for (const query of [`?at_seq=${before}`, '?at=2001-01-01']) {
      expect(await get(run, query)).toMatchObject({
        status: 404,
        body: { detail: 'Run at that time not found' },
      });
    }
  });

  it('shows no outputs that were deleted since', async () => {
    const run = ownRun();
    const end = await appendAll(
      bed.log,
      queued(run),
      assigned(run),
      started(run),
      succeeded(run, [anOutput]),
    );
    expect((await get(run, `?at_seq=${end}`)).body.outputs).toHaveLength(1);
    await appendAll(bed.log, outputsDeleted(run));
    expect((await get(run, `?at_seq=${end}`)).body).toMatchObject({
      status: 'success',
      outputs: [],
      missing_members: [{ member: 'outputs', reason: 'deleted' }],
    });
  });

  it('takes one moment, and none to wait for', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    const { status, body } = await get(run, '?at_seq=1&at=2026-01-01&wait=1');
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ['query', 'wait'] }, { loc: ['query', 'at'] }]);
    for (const query of ['?at_seq=0', '?at_seq=x', '?at=yesterday'])
      expect((await get(run, query)).status).toBe(422);
  });
});

describe('a list of runs as they were', () => {
  it('has the runs that were queued by then, with the statuses of then', async () => {
    const tenant = await bed.newTenant();
    const [early, late] = [aRun(tenant.org_id), aRun(tenant.org_id)];
    const list = (query: string) => call(`${gateway.api}/runs${query}`, tenant.key);
    const shown = ({ body }: ApiAnswer) =>
      body.runs.map(({ id, status }: { id: string; status: string }) => [id, status]);
    await appendAll(bed.log, queued(early));
    const moments: string[] = [];
    for (const fact of [assigned(early), queued(late), started(early), succeeded(early)]) {
      await untilNextMillisecond(bed);
      await appendAll(bed.log, fact);
      moments.push((await viewOf(bed, early)).run.updated_at);
    }
    await sayCaughtUp(bed, gateway.views);
    await gateway.views.save([await viewOf(bed, early), await viewOf(bed, late)]);
    const [atAssigned, , atStarted, atEnd] = moments;
    expect(shown(await list(`?at=${atAssigned}`))).toEqual([[early.run_id, 'started']]);
    expect(shown(await list(`?at=${atStarted}`))).toEqual([
      [late.run_id, 'queued'],
      [early.run_id, 'running'],
    ]);
    expect(shown(await list(`?at=${atStarted}&status=running`))).toEqual([[early.run_id, 'running']]);
    expect(shown(await list(`?at=${atStarted}&created_before=2001-01-01`))).toEqual([]);
    expect(shown(await list(`?at=${atEnd}&limit=1`))).toEqual([[late.run_id, 'queued']]);
    expect((await list(`?at=2001-01-01`)).body).toEqual({ runs: [], unknown_runs: [], next_cursor: null });
  });

  it('has runs that the log has lost and the archive has, with the statuses of then', async () => {
    await using own = await openTestBed();
    const viewed = await own.gateway({ environment: { RUNLEDGER_ARCHIVE: 'jetstream' } });
    const run = aRun(own.tenant.org_id);
    await appendAll(own.log, queued(run));
    const { created_at } = (await viewOf(own, run)).run;
    await untilNextMillisecond(own);
    await appendAll(own.log, assigned(run), started(run), succeeded(run));
    await viewed.views.save([await viewOf(own, run)]);
    await archiveAll(own.log);
    await forgetAll(own.log);
    await sayCaughtUp(own, viewed.views);
    for (const [query, status] of [
      [`?at=${created_at}`, 'queued'],
      ['?at=2999-01-01', 'success'],
    ] as const) {
      const { body } = await call(`${viewed.api}/runs${query}`, own.tenant.key);
      expect(body).toMatchObject({ runs: [{ id: run.run_id, status }], unknown_runs: [] });
    }
  });
});

/** What is stored next has another time than what is stored by now. */
const untilNextMillisecond = async ({ log }: TestBed): Promise<void> => {
  const { state } = await log.jsm.streams.info('RUNS');
  const last = Date.parse(state.last_ts);
  await waitFor('the next millisecond', () => Date.now() > last);
};

describe('a run whose first facts have left the log', () => {
  it('is shown as it is, says that nobody knows how it was, and its history says so too', async () => {
    await using own = await openTestBed();
    const viewed = await own.gateway();
    const run = aRun(own.tenant.org_id);
    const read = (query: string) => call(`${viewed.api}/run/${run.run_id}${query}`, own.tenant.key);
    const early = await appendAll(own.log, queued(run), assigned(run));
    await untilOlder(own.log);
    const end = await appendAll(own.log, started(run), succeeded(run));
    await sayCaughtUp(own, viewed.views);
    const found = await viewOf(own, run);
    await viewed.views.save([found]);
    await forgetBefore(own.log, early + 1);
    expect((await read(`?at_seq=${end}`)).body.status).toBe('success');
    expect(await read(`?at_seq=${end - 1}`)).toMatchObject({
      status: 410,
      body: { detail: expect.stringContaining('7 days'), code: 'run_history_expired' },
    });
    const history = await read('/history');
    expect(history.body).toMatchObject({
      status: 'success',
      finished: true,
      entries: [
        { kind: 'gap', reason: 'expired', sequence: early + 1 },
        { type: 'RunStarted', changes: null },
        { type: 'RunSucceeded', changes: null },
      ],
    });
    expect((await read('/history.svg')).status).toBe(410);
    const { created_at } = found.run;
    const list = await call(`${viewed.api}/runs?at=${created_at}`, own.tenant.key);
    expect(list.body).toMatchObject({ runs: [], unknown_runs: [run.run_id] });
  });
});
