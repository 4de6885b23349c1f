import { NO_RUNS } from '@runledger/contracts/fold/log-capacity';
import { setPosition } from '../fixtures/views/set-position.ts';
import { newUuid } from '@runledger/contracts/ids';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import { ViewsUnavailable, type RunViews } from '../../src/views/run-views.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../fixtures/runs/forgotten-log.ts';
import { aView, folded } from '../fixtures/runs/folded-runs.ts';
import { mongoViews } from '../fixtures/views/mongo-views.ts';
import {
  aRun,
  assigned,
  deleted,
  failed,
  LATER_TYPE,
  queued,
  requeued,
  started,
  storeOfLaterType,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { expectFolded, storeRuns } from '../fixtures/views/projected-runs.ts';

/** As if the views had been written up to there. */
const setPositionAt = async (
  log: EventLog,
  views: RunViews,
  at: { readonly sequence: number; readonly event_id: string },
): Promise<void> => {
  const { created } = await log.jsm.streams.info('RUNS');
  await setPosition(views, {
    stream_created: created,
    derivation: 1,
    derived_from: created,
    counts: NO_RUNS,
    missed: null,
    ...at,
  });
};

describe('a projection into memory', () => {
  it('makes every view the fold of the log, of stored and of new facts', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const before = await storeRuns(log, 12);
    const projection = open.use(project(log, views));
    await expectFolded(log, views, before);
    await expectFolded(log, views, await storeRuns(log, 12));
    expect(projection.state()).toEqual({ ok: true });
    expect(projection.position()).toBeGreaterThan(24);
  });

  it('stores a forged fact as a dead letter, once, and continues', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const key = aRun();
    await appendAll(log, queued(key));
    const forged = failed(key);
    await log.js.publish(runEventSubject(forged), JSON.stringify(forged));
    await log.js.publish('runs.nobody.nothing.life.queued.gateway.0.none', 'nonsense');
    open.use(project(log, views));
    await appendAll(log, assigned(key));
    await expectFolded(log, views, [key]);
    expect((await views.find(key))?.run.status).toBe('started');
    const letters = await listDeadLetters(log);
    expect(letters.map(({ consumer, sequence }) => [consumer, sequence])).toEqual([
      ['projection', 2],
      ['projection', 3],
    ]);
  });

  it('reads the whole run after a gap', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const key = aRun();
    const first = queued(key);
    await appendAll(log, first);
    await setPositionAt(log, views, { sequence: 1, event_id: first.event_id });
    open.use(project(log, views));
    await appendAll(log, assigned(key));
    await expectFolded(log, views, [key]);
  });

  it('knows what to erase of a deleted run whose view was lost', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const key = aRun();
    const end = succeeded(key, [anOutput]);
    const sequence = await appendAll(log, queued(key), assigned(key), started(key), end);
    await setPositionAt(log, views, { sequence, event_id: end.event_id });
    open.use(project(log, views));
    await appendAll(log, deleted(key));
    await waitFor('the deletion to be projected', async () => (await views.find(key)) !== undefined);
    expect(await views.find(key)).toMatchObject({
      run: { status: 'deleted', to_erase: { outputs: [anOutput] } },
    });
  });

  it('takes a deletion for all that there is when the beginning of the run has expired too', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const key = aRun();
    await appendAll(log, queued(key));
    await appendWebhook(log, webhookStarted(key));
    await untilOlder(log);
    const first = await appendAll(log, assigned(key));
    await appendAll(log, started(key), succeeded(key));
    const end = webhookDelivered(key);
    const sequence = await appendWebhook(log, end);
    await forgetBefore(log, first);
    await setPositionAt(log, views, { sequence, event_id: end.event_id });
    open.use(project(log, views));
    await appendAll(log, deleted(key));
    await waitFor('the deletion to be projected', async () => (await views.find(key)) !== undefined);
    expect(await views.find(key)).toMatchObject({ run: { status: 'deleted', to_erase: { outputs: [] } } });
    expect(await listDeadLetters(log)).toEqual([]);
  });

  it('stops at an event of a later release, and reports it', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const [key, later] = [aRun(), aRun()];
    await appendAll(log, queued(key));
    await appendAll(log, { ...queued(later), version: 2 });
    const projection = open.use(project(log, views));
    await waitFor('the projection to stop', () => !projection.state().ok);
    expect(projection.state()).toMatchObject({ why: expect.stringContaining('RunQueued in version 2') });
    expect(await views.find(later)).toBeUndefined();
  });

  it('stops at a type of a later release that a service stored, and not at one that an executor made up', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const [key, other] = [aRun(), aRun()];
    const last = await appendAll(log, queued(key), assigned(key));
    await storeOfLaterType(log, started(key), last);
    await appendAll(log, started(key));
    const projection = open.use(project(log, views));
    await waitFor('the fact behind it', async () => (await views.find(key))?.run.status === 'running');
    expect(projection.state()).toEqual({ ok: true });

    await storeOfLaterType(log, requeued(other), await appendAll(log, queued(other)));
    await waitFor('the projection to stop', () => !projection.state().ok);
    expect(projection.state()).toMatchObject({ why: expect.stringContaining(`${LATER_TYPE} in version 1`) });
  });
});

describeWithMongo('a projection into MongoDB', () => {
  it('continues at its position after a restart', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = await mongoViews(open);
    const before = await storeRuns(log, 6);
    await using first = project(log, views);
    await expectFolded(log, views, before);
    await waitFor(
      'the position to be stored',
      async () => (await views.position())?.sequence === first.position(),
    );
    await first[Symbol.asyncDispose]();
    // Starting again would put its head back.
    const witness = aView(5, folded(queued(aRun())));
    await views.save([witness]);
    const position = await views.position();
    expect(position?.sequence).toBeGreaterThan(12);

    const after = await storeRuns(log, 6);
    open.use(project(log, views));
    await expectFolded(log, views, [...before, ...after]);
    expect(await views.find(witness.run)).toEqual(witness);
  });

  it('derives all views again when the log does not have the event of its position, and logs it', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = await mongoViews(open);
    const keys = await storeRuns(log, 6);
    const { created } = await log.jsm.streams.info('RUNS');
    // As if another log had been projected: views that are ahead, and one of a run that this log does not have.
    await setPosition(views, {
      stream_created: created,
      derivation: 1,
      derived_from: created,
      sequence: 5,
      event_id: newUuid(),
      counts: NO_RUNS,
      missed: null,
    });
    await views.save(keys.map((key) => aView(800, folded(queued(key)))));
    const kept = folded(queued(aRun()));
    await views.save([aView(900, kept)]);

    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    open.use(project(log, views, logger));
    await expectFolded(log, views, keys);
    expect(await views.find(kept)).toEqual(aView(0, kept));
    expect(warnings).toContainEqual({ because: expect.stringContaining('does not hold event') });
  });

  it('runs at one of two gateways, and at the other when that one stops', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = await mongoViews(open);
    const one = open.use(project(log, views));
    await waitFor('one to project', () => one.position() !== undefined);
    const other = open.use(project(log, views));
    await expectFolded(log, views, await storeRuns(log, 6));
    expect(other.position()).toBeUndefined();
    await one[Symbol.asyncDispose]();
    await waitFor('the other to project', () => other.position() !== undefined);
    await expectFolded(log, views, await storeRuns(log, 6));
  });

  it('loses nothing when two gateways project at the same time', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = await mongoViews(open);
    const unshared: RunViews = { ...views, shared: false };
    const keys = await storeRuns(log, 6);
    const both = [open.use(project(log, unshared)), open.use(project(log, unshared))];
    keys.push(...(await storeRuns(log, 6)));
    await expectFolded(log, views, keys);
    const { lastSequence } = await runsIdentity(log);
    await waitFor('both to come to the end', () => both.every((one) => one.position() === lastSequence));
  });

  it('goes on when the response to a change of its position was lost', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = await mongoViews(open);
    let lost = 0;
    const losing: RunViews = {
      ...views,
      advance: async (...step) => {
        const moved = await views.advance(...step);
        lost += 1;
        if (lost === 1) throw new ViewsUnavailable('the connection was lost before the response');
        return moved;
      },
    };
    const projection = open.use(project(log, losing));
    const keys = await storeRuns(log, 3);
    await waitFor('the loss', () => lost > 0);
    keys.push(...(await storeRuns(log, 3)));
    await expectFolded(log, views, keys);
    const { lastSequence } = await runsIdentity(log);
    await waitFor('the position', () => projection.position() === lastSequence);
  });
});
