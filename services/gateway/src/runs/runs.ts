import { outputLists } from '@runledger/blob-store/output-lists';
import type { RecordAction } from '@runledger/event-log/streams/record-action';
import { lastProgress } from '@runledger/event-log/streams/activity';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import type { CallbackPolicy } from '@runledger/webhooks/callback-policy';
import { outputUrls } from '@runledger/webhooks/output-urls';
import { secretBox, signer } from '@runledger/webhooks/secret-box';
import type { Archive } from '../archive/archive.ts';
import { runTokens } from '../door/credentials.ts';
import type { Files } from '../files/files.ts';
import type { OutputStore } from '../files/output-store.ts';
import type { Kit } from '../kit.ts';
import type { Catalogue } from '../records/catalogue/catalogue.ts';
import { isValidKey } from '../records/keys/api-keys.ts';
import { openKeptReady } from '../records/catalogue/kept-ready.ts';
import { longestRun } from '../records/catalogue/record-answers.ts';
import { openSchedulerClient } from '../records/operators/scheduler-client.ts';
import type { SessionCallers } from '../records/people/sessions.ts';
import type { Quotas } from '../records/quotas/quotas.ts';
import type { FreshViews } from '../views/fresh-views.ts';
import { attemptLogs } from './attempt-logs.ts';
import { openKeyRevalidation } from './key-revalidation.ts';
import { acceptRun } from './facts/accept-run.ts';
import { callbackRules } from './facts/callback-rules.ts';
import { cancelRun } from './facts/cancel-run.ts';
import { currentRun, isNewRun, openFindView, type Reading } from './facts/current-run.ts';
import { deleteRun } from './facts/delete-run.ts';
import { deploymentQueue } from './facts/deployment-queue.ts';
import { expireRun } from './facts/expire-run.ts';
import { inputSecrets } from './facts/input-secrets.ts';
import { prepareRun } from './facts/prepare-run.ts';
import { logCapacity, openCountedRuns, type SeenPosition } from './facts/log-capacity.ts';
import { openRunNumbers } from '../records/run-numbers.ts';
import { latestWebhooks } from './facts/latest-webhooks.ts';
import { selectRuns } from './filter.ts';
import { queuePositions, runProgress } from './queue-positions.ts';
import { openRunSubscriptions } from './run-subscriptions.ts';

/** What stands below the operations on runs. */
interface Below {
  readonly archive: Archive;
  readonly fresh: FreshViews;
  readonly files: Files;
  readonly outputs: OutputStore;
  readonly records: Catalogue;
  readonly quotas: Quotas;
  readonly sessions: SessionCallers;
  readonly record: RecordAction;
  readonly seenPosition: SeenPosition;
  /** Which addresses callbacks may reach. It is complete once the gateway listens, since it forbids its own address. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

/** What the operations on runs share: one of each in a gateway. `open` closes it. */
const sharedByRuns = (kit: Kit, below: Below, open: AsyncDisposableStack) => {
  const { config, log, stores, logger, now, clock, publicUrl } = kit;
  const { archive, fresh, files, outputs, records, quotas, sessions, record } = below;
  const find = open.use(openFindView(kit)).call;
  const reading: Reading = {
    find,
    fresh,
    webhooks: latestWebhooks(),
    archived: archive.run,
  };
  const current = currentRun(kit, reading);
  const secretKeys = config.RUNLEDGER_SECRET_KEYS;
  const urls = outputUrls({ publicUrl, keys: secretKeys, ttlS: config.RUNLEDGER_OUTPUT_URL_TTL_S, now });
  const lists = outputLists({ blobs: stores.blobs, logger });
  const scheduler = open.use(openSchedulerClient(log));
  const streamed = { current, lists, outputUrl: urls.of };
  const subscriptions = open.use(openRunSubscriptions(kit, streamed, quotas.streamLimits));
  const keys = open.use(
    openKeyRevalidation(kit, ({ key, session }) =>
      session ? sessions.isValid(key) : isValidKey(log, key, now),
    ),
  );
  const secrets = inputSecrets(secretBox(secretKeys), signer(secretKeys, 'idempotent-request'));
  const capacity = logCapacity(kit, open.use(openCountedRuns(kit, below.seenPosition)));
  const longest = longestRun(kit);
  const numbers = open.use(openRunNumbers(kit));
  const accept = acceptRun(kit, {
    current,
    isNew: isNewRun(reading),
    longestRun: longest,
    capacity,
    quotas,
    numbers,
    secrets,
  });
  const callbacks = callbackRules(below.policy, below.resolver, config.RUNLEDGER_WEBHOOK_URL_MAX);
  const prepare = prepareRun(kit, { files, callbacks, outputs, outputUrls: urls, secrets });
  return {
    ...reading,
    ...streamed,
    archive,
    urls,
    progress: runProgress((run) => lastProgress(log, run, run.attempt.number, run.attempt.executor_id)),
    positions: queuePositions(scheduler, clock),
    attemptLog: attemptLogs(kit, current),
    selectRuns: selectRuns(records),
    subscriptions,
    keys,
    scheduler,
    ready: openKeptReady(kit, records, scheduler),
    quotas,
    capacity,
    longestRun: longest,
    accept,
    deployments: deploymentQueue(kit, { accept, callbacks, prepare }),
    callbacks,
    prepare,
    secrets,
    cancel: cancelRun(kit, current, (key) => expireRun(kit, reading, key)),
    delete: deleteRun(kit, current, lists, capacity),
    record,
    tokens: runTokens(signer(secretKeys, 'run-token')),
  };
};

export type Runs = ReturnType<typeof sharedByRuns>;

export const openRuns = (kit: Kit, below: Below, open: AsyncDisposableStack): Runs =>
  sharedByRuns(kit, below, open);
