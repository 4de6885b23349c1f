import { outputLists, type OutputLists } from '@runledger/blob-store/output-lists';
import type { ProgressReport } from '@runledger/contracts/events/progress';
import type { Run } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/http/runs/run-response';
import type { RecordAction } from '@runledger/event-log/streams/record-action';
import { lastProgress } from '@runledger/event-log/streams/activity';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import type { CallbackPolicy } from '@runledger/webhooks/callback-policy';
import { outputUrls, type OutputUrls } from '@runledger/webhooks/output-urls';
import { receiptSigner, type ReceiptSigner } from '@runledger/webhooks/receipt-signer';
import { secretBox, signer } from '@runledger/webhooks/secret-box';
import type { Archive } from '../archive/archive.ts';
import { runTokens, type RunTokens } from '../door/credentials.ts';
import type { Files } from '../files/files.ts';
import type { OutputStore } from '../files/output-store.ts';
import type { Kit } from '../kit.ts';
import type { CatalogueRecords } from '../records/catalogue/catalogue.ts';
import { isValidKey } from '../records/keys/api-keys.ts';
import { longestRun, type LongestRun } from '../records/catalogue/record-answers.ts';
import { openSchedulerClient, type SchedulerClient } from '../records/operators/scheduler-client.ts';
import type { SessionCallers } from '../records/people/accounts.ts';
import type { Quotas } from '../records/quotas/quotas.ts';
import type { FreshViews } from '../views/fresh-views.ts';
import { attemptLogs, type ReadAttemptLog } from './attempt-logs.ts';
import { waitForEnd, type WaitForEnd, openKeyRevalidation, type KeyRevalidation } from './await-end.ts';
import { acceptRun, type AcceptRun } from './facts/accept-run.ts';
import { callbackRules, type CallbackRules } from './facts/callback-rules.ts';
import { cancelRun, type CancelRun } from './facts/cancel-run.ts';
import { currentRun, openFindView, type ReadCurrentRun, type Reading } from './facts/current-run.ts';
import { deleteRun, type DeleteRun } from './facts/delete-run.ts';
import { deploymentQueue, type DeploymentQueue } from './facts/deployment-queue.ts';
import { expireRun } from './facts/expire-run.ts';
import { inputSecrets, type InputSecrets } from './facts/input-secrets.ts';
import { keepRunFiles, type KeepRunFiles } from './facts/keep-files.ts';
import { logRoom, openCountedRuns, type LogRoom, type SeenPosition } from './facts/log-room.ts';
import { openRunNumbers } from './facts/run-numbers.ts';
import { shownWebhooks } from './facts/shown-webhooks.ts';
import { selectRuns, type SelectRuns } from './filter.ts';
import { openIncluded, type OpenIncluded } from './included.ts';
import { pastRun, type ReadPastRun } from './past-run.ts';
import { queuePositions, runProgress, type QueuePositions } from './queue-positions.ts';
import { endedResponses, type EndedResponses } from './run-response.ts';
import { openRunSubscriptions, type RunSubscriptions } from './run-subscriptions.ts';

/** What the operations on runs share: one of each in a gateway. */
export interface Runs extends Reading {
  readonly archive: Archive;
  readonly current: ReadCurrentRun;
  /** As `current`, and nothing without the log. */
  readonly confirmed: ReadCurrentRun;
  readonly past: ReadPastRun;
  readonly ended: EndedResponses;
  /** The outputs of runs that have long lists of them. */
  readonly lists: OutputLists;
  readonly outputUrl: OutputUrl;
  readonly urls: OutputUrls;
  readonly progress: (run: Run) => Promise<ProgressReport | undefined>;
  readonly positions: QueuePositions;
  readonly included: OpenIncluded;
  readonly attemptLog: ReadAttemptLog;
  readonly selectRuns: SelectRuns;
  readonly subscriptions: RunSubscriptions;
  readonly keys: KeyRevalidation;
  readonly wait: WaitForEnd;
  readonly scheduler: SchedulerClient;
  readonly quotas: Quotas;
  readonly room: LogRoom;
  readonly longestRun: LongestRun;
  readonly accept: AcceptRun;
  readonly deployments: DeploymentQueue;
  readonly callbacks: CallbackRules;
  readonly keepFiles: KeepRunFiles;
  readonly secrets: InputSecrets;
  readonly cancel: CancelRun;
  readonly delete: DeleteRun;
  readonly record: RecordAction;
  readonly tokens: RunTokens;
  readonly receipts: ReceiptSigner;
}

/** What stands below the operations on runs. */
interface Below {
  readonly archive: Archive;
  readonly fresh: FreshViews;
  readonly files: Files;
  readonly outputs: OutputStore;
  readonly records: CatalogueRecords;
  readonly quotas: Quotas;
  readonly sessions: SessionCallers;
  readonly record: RecordAction;
  readonly seenPosition: SeenPosition;
  /** Which addresses callbacks may reach. It is complete once the gateway listens, since it forbids its own address. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

/** `open` closes it. */
export const openRuns = (kit: Kit, below: Below, open: AsyncDisposableStack): Runs => {
  const { config, log, stores, logger, now, clock, publicUrl } = kit;
  const { archive, fresh, files, outputs, records, quotas, sessions, record } = below;
  const find = open.use(openFindView(kit)).call;
  const reading: Reading = { find, fresh, shown: shownWebhooks(), archived: archive.run };
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
  const room = logRoom(kit, open.use(openCountedRuns(kit, below.seenPosition)));
  const longest = longestRun(kit);
  const numbers = open.use(openRunNumbers(kit));
  const accept = acceptRun(kit, { current, longestRun: longest, room, quotas, numbers, secrets });
  const callbacks = callbackRules(below.policy, below.resolver, config.RUNLEDGER_WEBHOOK_URL_MAX);
  const keepFiles = keepRunFiles(kit, { files, addresses: callbacks, outputs, outputUrls: urls });
  return {
    ...reading,
    ...streamed,
    archive,
    confirmed: currentRun(kit, reading, true),
    past: pastRun(archive.read, current),
    ended: endedResponses(),
    urls,
    progress: runProgress((key, attempt, executor) => lastProgress(log, key, attempt, executor)),
    positions: queuePositions(scheduler, clock),
    included: openIncluded(kit),
    attemptLog: attemptLogs(kit, current),
    selectRuns: selectRuns(records),
    subscriptions,
    keys,
    wait: waitForEnd(subscriptions.awaitEnd, keys),
    scheduler,
    quotas,
    room,
    longestRun: longest,
    accept,
    deployments: deploymentQueue(kit, { accept, callbacks, keepFiles, secrets }),
    callbacks,
    keepFiles,
    secrets,
    cancel: cancelRun(kit, current, expireRun(kit, reading)),
    delete: deleteRun(kit, current, lists, room),
    record,
    tokens: runTokens(signer(secretKeys, 'run-token')),
    receipts: receiptSigner(secretKeys),
  };
};
