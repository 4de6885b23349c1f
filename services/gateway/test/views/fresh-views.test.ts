import { NO_RUNS } from '@runledger/contracts/fold/log-capacity';
import { setPosition } from '../fixtures/views/set-position.ts';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clock } from '../../src/kit.ts';
import { freshViews } from '../../src/views/fresh-views.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { aLog, type TestLog } from '../fixtures/gateway/a-log.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';
import { mongoViews, unavailableViews } from '../fixtures/views/mongo-views.ts';

/** Views that lack nothing have all of any organisation. */
const ORG = orgId(newUuid());
/** Longer than a test may take. */
const LONG_MS = 600_000;

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  ({ log } = test);
});
afterAll(() => test[Symbol.asyncDispose]());

const aRunThatEnds = async (): Promise<RunKey> => {
  const key = aRun();
  const webhook = 'https://a.example/';
  await appendAll(log, queued(key, { webhook }), assigned(key), started(key), succeeded(key));
  await appendWebhook(log, webhookStarted(key));
  return key;
};

const expectEachRunAtOnce = async (views: RunViews): Promise<void> => {
  const fresh = freshViews({ log, views, timeoutMs: LONG_MS, clock });
  await using projection = project(log, views);
  for (let runs = 0; runs < 10; runs += 1) {
    const key = await aRunThatEnds();
    expect(await fresh.becomeFresh(ORG)).toBe(true);
    const view = await views.find(key);
    expect([view?.run.status, view?.webhook.state?.status]).toEqual(['success', 'running']);
  }
  expect(projection.state()).toEqual({ ok: true });
};

describe('views of this process', () => {
  it('are fresh from when they have what is in the log until more is stored', async () => {
    const views = sqliteViews();
    const fresh = freshViews({ log, views, timeoutMs: LONG_MS, clock });
    await aRunThatEnds();
    expect(await fresh.areFresh(ORG)).toBe(false);
    await using projection = project(log, views);
    await waitFor('the views', () => fresh.areFresh(ORG));
    await projection[Symbol.asyncDispose]();
    expect(await fresh.areFresh(ORG)).toBe(true);
    await aRunThatEnds();
    expect(await fresh.areFresh(ORG)).toBe(false);
  });

  it('are waited for while they take what has just been stored', async () => {
    const views = sqliteViews();
    const { areFresh } = freshViews({ log, views, timeoutMs: LONG_MS, momentMs: LONG_MS, clock });
    const begun = Promise.withResolvers<void>();
    const taking = Promise.withResolvers<void>();
    const advance: RunViews['advance'] = async (...args) => {
      begun.resolve();
      await taking.promise;
      return views.advance(...args);
    };
    const key = await aRunThatEnds();
    await using projection = project(log, { ...views, advance });
    await begun.promise;
    const fresh = areFresh(ORG);
    taking.resolve();
    expect([await fresh, (await views.find(key))?.run.status, projection.state().ok]).toEqual([
      true,
      'success',
      true,
    ]);
  });

  it('that other gateways have too are not asked for', async () => {
    const views = sqliteViews();
    await using projection = project(log, views);
    await waitFor('the views', () => freshViews({ log, views, timeoutMs: LONG_MS, clock }).areFresh(ORG));
    const { moved: _, ...shared } = views;
    const { areFresh } = freshViews({ log, views: { ...shared, shared: true }, timeoutMs: LONG_MS, clock });
    expect([projection.state().ok, await areFresh(ORG)]).toEqual([true, false]);
  });
});

it('waits until views in memory have what was in the log', () => expectEachRunAtOnce(sqliteViews()));

describeWithMongo('with a server', () => {
  it('waits until views in MongoDB have what was in the log', async () => {
    await using open = new AsyncDisposableStack();
    await expectEachRunAtOnce(await mongoViews(open));
  });
});

it('waits until views of another log are derived from this one', async () => {
  const views = sqliteViews();
  const another = newUuid();
  await setPosition(views, {
    stream_created: another,
    derivation: 1,
    derived_from: another,
    sequence: 900_000,
    event_id: null,
    counts: NO_RUNS,
    missed: null,
  });
  const key = await aRunThatEnds();
  const waiting = freshViews({ log, views, timeoutMs: LONG_MS, clock }).becomeFresh(ORG);
  await using open = new AsyncDisposableStack();
  open.use(project(log, views));
  await waiting;
  expect((await views.find(key))?.run.status).toBe('success');
});

it('does not wait for a message that no projection reads', async () => {
  const views = sqliteViews();
  const key = await aRunThatEnds();
  await log.js.publish('runs.of.nobody.else', 'nonsense');
  await using open = new AsyncDisposableStack();
  open.use(project(log, views));
  await freshViews({ log, views, timeoutMs: LONG_MS, clock }).becomeFresh(ORG);
  expect((await views.find(key))?.run.status).toBe('success');
});

it('stops waiting after a while when no gateway projects', async () => {
  const views = sqliteViews();
  await aRunThatEnds();
  expect(await freshViews({ log, views, timeoutMs: 50, clock }).becomeFresh(ORG)).toBe(false);
  expect(await views.position()).toBeUndefined();
});

it('does not wait again until the views move, after a wait in which they did not', async () => {
  const views = sqliteViews();
  let looks = 0;
  const position = () => {
    looks += 1;
    return views.position();
  };
  const fresh = freshViews({ log, views: { ...views, position }, timeoutMs: 500, clock });
  await aRunThatEnds();
  expect(await fresh.becomeFresh(ORG)).toBe(false);
  const looked = looks;
  for (let lists = 1; lists <= 3; lists += 1) {
    expect(await fresh.becomeFresh(ORG)).toBe(false);
    expect(looks - looked).toBeLessThanOrEqual(lists + 1);
  }
  await using open = new AsyncDisposableStack();
  open.use(project(log, views));
  await waitFor('the views to be waited for again', async () => (await fresh.becomeFresh(ORG)) || undefined);
});

it('does not wait when the views are unavailable', async () => {
  await using views = unavailableViews();
  await expect(freshViews({ log, views, timeoutMs: LONG_MS, clock }).becomeFresh(ORG)).resolves.toBe(false);
});

it('does not wait when the log is unavailable', async () => {
  const closed = await test.open();
  await closed[Symbol.asyncDispose]();
  const fresh = freshViews({ log: closed, views: sqliteViews(), timeoutMs: LONG_MS, clock });
  await expect(fresh.becomeFresh(ORG)).resolves.toBe(false);
});

it('reads the position once for a thousand lists', async () => {
  const views = sqliteViews();
  let looks = 0;
  const position = () => {
    looks += 1;
    return views.position();
  };
  await aRunThatEnds();
  const fresh = freshViews({ log, views: { ...views, position }, timeoutMs: 300, clock });
  await Promise.all(Array.from({ length: 1_000 }, () => fresh.becomeFresh(ORG)));
  expect(looks).toBeLessThan(100);
});
