import type { RunKey } from '@runledger/contracts/events/subjects';
import { silentLogger, type Logger } from '@runledger/event-log/connect/observability';
import { someOf } from '@runledger/testing/random/cases';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import type { RunViews } from '../../../src/views/run-views.ts';
import { archiveAll, takeObjectsAway } from '../../archive/archived-runs.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll, forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { mongoViews } from '../../fixtures/views/mongo-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';

const HOOK = { webhook: 'https://hooks.example/done' };

type OpenViews = (open: AsyncDisposableStack) => Promise<RunViews>;

/** While no gateway projects, facts are stored, archived unless said otherwise, and leave the log. Then one projects. */
const behind = (openViews: OpenViews): void => {
  interface Scene {
    readonly bed: TestBed;
    readonly one: RunKey;
    readonly other: RunKey;
    readonly views: RunViews;
    readonly shown: (key: RunKey) => Promise<ApiAnswer>;
    readonly viewed: (key: RunKey, status: string) => Promise<unknown>;
    readonly archiveComesBack: () => Promise<void>;
  }

  interface Happening {
    /** Before the projection stops. */
    readonly before: (bed: TestBed, one: RunKey, other: RunKey) => Promise<unknown>;
    readonly meanwhile: (bed: TestBed, one: RunKey, other: RunKey) => Promise<unknown>;
    readonly archives?: boolean;
    /** The archive lacks its objects until they come back, and this logger is told. */
    readonly awayWith?: Logger;
    /** Only those of these runs. */
    readonly isAway?: (key: RunKey) => boolean;
  }

  const after = async (
    { before, meanwhile, archives = true, awayWith, isAway }: Happening,
    test: (scene: Scene) => Promise<void>,
  ): Promise<void> => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const [one, other] = [aRun(bed.tenant.org_id), aRun(bed.tenant.org_id)];
    const views = await openViews(open);
    {
      await using gateway = await bed.gateway({ views, projecting: true });
      await before(bed, one, other);
      const { state } = await bed.log.jsm.streams.info('RUNS');
      await waitFor(
        'the views',
        async () => ((await gateway.views.position())?.sequence ?? 0) >= state.last_seq,
      );
    }
    await meanwhile(bed, one, other);
    if (archives) await archiveAll(bed.log);
    await forgetAll(bed.log);
    const archiveComesBack = awayWith ? await takeObjectsAway(bed.log, isAway) : async () => undefined;
    const gateway = await bed.gateway({ views, projecting: true, ...(awayWith && { logger: awayWith }) });
    const shown = ({ run_id }: RunKey): Promise<ApiAnswer> =>
      call(`${gateway.api}/run/${run_id}`, bed.tenant.key);
    const viewed = (key: RunKey, status: string): Promise<unknown> =>
      waitFor(`the view to be ${status}`, async () => (await views.find(key))?.run.status === status);
    await test({ bed, one, other, views, shown, viewed, archiveComesBack });
  };

  const messagesIn = async ({ log }: TestBed): Promise<number> =>
    (await log.jsm.streams.info('RUNS')).state.messages;
  const complete = (views: RunViews): Promise<unknown> =>
    waitFor('complete views', async () => (await views.position())?.missed === null);

  it('keep the end that a run had, also before they know it, and no other end is stored', async () => {
    await after(
      {
        before: ({ log }, one) => appendAll(log, queued(one), assigned(one), started(one)),
        meanwhile: ({ log }, one) => appendAll(log, succeeded(one, [anOutput])),
      },
      async ({ bed, one, shown, viewed, views }) => {
        const first = await shown(one);
        expect(first.body).toMatchObject({ status: 'success', end_reason: 'completed' });
        await viewed(one, 'success');
        await complete(views);
        expect((await shown(one)).body).toEqual(first.body);
        expect(await messagesIn(bed)).toBe(0);
      },
    );
  });

  it('come to have a run that they never saw, and to lack one that was deleted', async () => {
    await after(
      {
        before: ({ log }, gone) =>
          appendAll(log, queued(gone), assigned(gone), started(gone), succeeded(gone)),
        meanwhile: async ({ log }, gone, unseen) => {
          await appendAll(log, queued(unseen), assigned(unseen), started(unseen), succeeded(unseen));
          await appendAll(log, deleted(gone));
        },
      },
      async ({ bed, one: gone, other: unseen, shown, viewed, views }) => {
        expect((await shown(gone)).status).toBe(404);
        await viewed(unseen, 'success');
        await viewed(gone, 'deleted');
        await complete(views);
        expect((await shown(gone)).status).toBe(404);
        expect(await messagesIn(bed)).toBe(0);
      },
    );
  });

  it('keep a notification delivered', async () => {
    await after(
      {
        before: ({ log }, one) =>
          appendAll(log, queued(one, HOOK), assigned(one), started(one), succeeded(one)),
        meanwhile: ({ log }, one) => appendWebhook(log, webhookDelivered(one)),
      },
      async ({ bed, one, shown, views }) => {
        expect((await shown(one)).body.webhook_status).toBe('success');
        await complete(views);
        expect((await shown(one)).body.webhook_status).toBe('success');
        expect(await messagesIn(bed)).toBe(0);
      },
    );
  });

  it('end a run whose facts left the log without being archived or read, and one that had not ended', async () => {
    await after(
      {
        before: async ({ log }, lost, open) => {
          await appendAll(log, queued(lost), assigned(lost), started(lost));
          await appendAll(log, queued(open));
        },
        meanwhile: ({ log }, lost, open) => appendAll(log, succeeded(lost), assigned(open)),
        archives: false,
      },
      async ({ one, other, shown, viewed }) => {
        for (const run of [one, other]) {
          await viewed(run, 'failed');
          expect((await shown(run)).body).toMatchObject({ end_reason: 'log_expired' });
        }
      },
    );
  });

  it('keep the end that the archive has, although facts before it left the log without being archived or read', async () => {
    await after(
      {
        before: ({ log }, one) => appendAll(log, queued(one)),
        meanwhile: async ({ log }, one) => {
          await appendAll(log, assigned(one), started(one));
          await untilOlder(log);
          await forgetBefore(log, await appendAll(log, succeeded(one, [anOutput])));
        },
      },
      async ({ bed, one, shown, viewed, views }) => {
        const first = await shown(one);
        expect(first.body).toMatchObject({ status: 'success', outputs: [{}], started_at: null });
        await viewed(one, 'success');
        await complete(views);
        expect((await shown(one)).body).toEqual(first.body);
        expect(await messagesIn(bed)).toBe(0);
      },
    );
  });

  it('end a run that had not ended by what the archive has of it', async () => {
    await after(
      {
        before: ({ log }, one) => appendAll(log, queued(one)),
        meanwhile: ({ log }, one) => appendAll(log, assigned(one), started(one)),
      },
      async ({ one, shown, viewed }) => {
        await viewed(one, 'failed');
        expect((await shown(one)).body).toMatchObject({
          end_reason: 'log_expired',
          compute_function_call_id: `${one.run_id}.1`,
        });
      },
    );
  });

  it('wait for an archive that cannot be read: no end is stored, and the run is not shown as it was before', async () => {
    const failed = Promise.withResolvers<void>();
    const error = (_fields: object, message: string): void => {
      if (message.startsWith('run views that lack facts')) failed.resolve();
    };
    await after(
      {
        before: ({ log }, one) => appendAll(log, queued(one), assigned(one), started(one)),
        meanwhile: ({ log }, one) => appendAll(log, succeeded(one)),
        awayWith: { ...silentLogger, error },
      },
      async ({ bed, one, shown, viewed, views, archiveComesBack }) => {
        expect(await shown(one)).toMatchObject({ status: 503 });
        await failed.promise;
        expect((await views.find(one))?.run.status).toBe('running');
        expect(await messagesIn(bed)).toBe(0);
        await archiveComesBack();
        await viewed(one, 'success');
        expect(await messagesIn(bed)).toBe(0);
      },
    );
  });

  it('have what the archive has of others while the object of one organisation cannot be read', async () => {
    const [foreign, third] = [aRun(), aRun()];
    await after(
      {
        before: ({ log }, one) => appendAll(log, queued(one), queued(foreign), queued(third)),
        meanwhile: ({ log }, one) =>
          appendAll(
            log,
            ...[one, foreign, third].flatMap((run) => [assigned(run), started(run), succeeded(run)]),
          ),
        awayWith: silentLogger,
        isAway: ({ run_id }) => run_id === foreign.run_id,
      },
      async ({ one, viewed, views, archiveComesBack }) => {
        await viewed(one, 'success');
        await viewed(third, 'success');
        expect((await views.find(foreign))?.run.status).toBe('queued');
        expect((await views.position())?.missed).not.toBeNull();
        await archiveComesBack();
        await viewed(foreign, 'success');
        await complete(views);
      },
    );
  });
};

describe('views in SQLite that are behind the beginning of the log', () => {
  behind(async () => sqliteViews());
});
// `run-views.conformance.ts` holds both kinds of views to one behaviour.
for (const openViews of someOf([mongoViews], () => false))
  describeWithMongo('with a server', { timeout: 60_000 }, () => {
    describe('views in MongoDB that are behind the beginning of the log', () => {
      behind(openViews);
    });
  });
