import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { outputLists } from '@runledger/blob-store/output-lists';
import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger as logger } from '@runledger/event-log/connect/observability';
import { clock } from '../../../src/kit.ts';
import type { StreamHolder, StreamLimits } from '../../../src/records/quotas/quotas.ts';
import { currentRun } from '../../../src/runs/facts/current-run.ts';
import { latestWebhooks } from '../../../src/runs/facts/latest-webhooks.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { openRunSubscriptions, type RunSubscriptions } from '../../../src/runs/run-subscriptions.ts';
import { aConfig, aKit } from '../../fixtures/gateway/a-kit.ts';

export const HOLDER: StreamHolder = {
  org_id: orgId('0191d3a0-0000-7000-8000-000000000001'),
  family: 'a key',
};

/** What streams and waiting reads of a gateway stand on, without HTTP. */
export const someSubscriptions = (log: EventLog, { maxSubscribers = 100 } = {}): RunSubscriptions => {
  const views = sqliteViews();
  const kit = aKit({ log, views, config: { ...aConfig(), RUNLEDGER_STREAMS_MAX: maxSubscribers } });
  const fresh = freshViews({ log, views, timeoutMs: 5_000, clock });
  const archived = async () => undefined;
  const current = currentRun(kit, {
    archived,
    find: (key) => views.find(key),
    fresh,
    webhooks: latestWebhooks(),
  });
  const outputUrl = ({ key }: { readonly key: string }): string => `https://runs.example/outputs/${key}`;
  const limits: StreamLimits = { refuses: () => undefined, hold: () => new DisposableStack() };
  const lists = outputLists({ blobs: openBlobStores(log).blobs, logger });
  return openRunSubscriptions(kit, { current, lists, outputUrl }, limits);
};
