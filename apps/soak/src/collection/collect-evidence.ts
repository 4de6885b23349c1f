import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { deletions } from '../checks/deletions.ts';
import { views } from '../checks/views.ts';
import { reasonOf } from '../clients/api.ts';
import type { ClientRecords } from '../clients/client-records.ts';
import type { RunPlan } from '../clients/plan.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { programStartsPath } from '../cluster/service-environment.ts';
import type { Check, Evidence, ProgramStart, SharingEvidence, ShownByGateway } from '../evidence/evidence.ts';
import type { Promises } from '../evidence/promises.ts';
import { foldRuns, runsOf, type LoggedRuns } from '../evidence/logged-run.ts';
import { everyMessage, vanishedFrom } from '../evidence/kept-messages.ts';
import type { BrokerFaultMade } from '../faults/inject-broker-faults.ts';
import type { LimitChange } from '../limits/limit-changes.ts';
import { brokerRefusals } from '../permissions/broker-refusals.ts';
import type { Trespass } from '../permissions/trespass.ts';
import type { Size } from '../parameters/size.ts';
import { readLog, type RecordedLog } from './read-log.ts';
import { refusedUploads, unarchivedMessages } from './service-logs.ts';
import { shownByGateway } from './shown-by-gateways.ts';
import { shownPools } from './shown-pools.ts';
import { shownFiles } from './shown-files.ts';
import { shownLogs } from './shown-logs.ts';
import { shownRecords } from './shown-records.ts';

export interface CollectionOptions {
  readonly cluster: Cluster;
  readonly recorded: RecordedLog;
  readonly records: ClientRecords;
  readonly limits: readonly LimitChange[];
  readonly trespasses: readonly Trespass[];
  readonly brokerFaults: readonly BrokerFaultMade[];
  readonly promises: Promises;
  readonly plans: readonly RunPlan[];
  readonly size: Size;
  readonly folder: string;
}

/** Views follow the log, and files are erased later. What is not as it should be after this time counts as wrong. */
const CORRECT_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 2_000;
const MAX_DEAD_LETTERS = 1_000;

export const collectEvidence = async ({
  cluster,
  recorded,
  records,
  limits,
  trespasses,
  brokerFaults,
  promises,
  plans,
  size,
  folder,
}: CollectionOptions): Promise<Evidence> => {
  const stored = await readLog(cluster.log);
  const runsNow = (): LoggedRuns => foldRuns(everyMessage(recorded.messages, stored));
  const runs = runsNow();
  const evidence: Evidence = {
    plans,
    records,
    runs,
    vanished: vanishedFrom(stored, recorded.messages, limits, size),
    shown: [],
    files: [],
    logs: [],
    catalogue: [],
    shownToStranger: await shownToStranger(cluster, runs),
    org_id: cluster.organisation.org_id,
    glutton_id: cluster.glutton.org_id,
    sharing: sharingOf(cluster, await shownPools(cluster)),
    programStarts: await readProgramStarts(programStartsPath(folder)),
    deadLetters: await listDeadLetters(cluster.log, { limit: MAX_DEAD_LETTERS }),
    faults: cluster.journal,
    limits,
    trespasses,
    brokerFaults,
    promises,
    refusedUploads: await refusedUploads(folder),
    unarchived: await unarchivedMessages(folder),
    brokerRefusals: await brokerRefusals(folder),
    size,
  };
  const { gateways, organisation } = cluster;
  const keys = [...runsOf(evidence, evidence.org_id).keys()];
  const caughtUp = await untilKept(views, async () => {
    const shown = await shownWith(organisation.api_key, gateways, keys);
    // The log may have got a late fact meanwhile, which gateways show.
    return { ...evidence, shown, runs: runsNow() };
  });
  const ownRuns = runsOf(caughtUp, evidence.org_id);
  const catalogue = await shownRecords(cluster, records.catalogue);
  const logs = await shownLogs(gateways, organisation.api_key, ownRuns);
  const erased = await untilKept(deletions, async () => ({
    ...caughtUp,
    files: await shownFiles(gateways, ownRuns),
  }));
  return { ...erased, catalogue, logs };
};

const sharingOf = (
  { sharing: { greedy, modest, orgLimits } }: Cluster,
  pools: SharingEvidence['pools'],
): SharingEvidence => ({
  greedy_ids: greedy.map(({ org_id }) => org_id),
  modest_id: modest.org_id,
  orgLimits,
  pools,
});

const shownWith = (
  apiKey: string,
  gateways: readonly string[],
  runs: readonly string[],
): Promise<ShownByGateway[]> =>
  Promise.all(
    gateways.map((gateway) =>
      shownByGateway(gateway, apiKey, runs).catch((error: unknown) => {
        return { gateway, listed: [], read: [], failure: reasonOf(error) };
      }),
    ),
  );

/** A sample of the runs is enough: clients tried others while they ran. */
const STRANGER_READS = 50;

const shownToStranger = (
  { gateways, stranger }: Cluster,
  runs: LoggedRuns,
): Promise<readonly ShownByGateway[]> =>
  shownWith(stranger.api_key, gateways, [...runs.keys()].slice(0, STRANGER_READS));

/** What is looked at, as soon as it is correct or the time is up. */
const untilKept = async (check: Check, look: () => Promise<Evidence>): Promise<Evidence> => {
  for (const deadline = performance.now() + CORRECT_WITHIN_MS; ; await pause(POLL_EVERY_MS)) {
    const evidence = await look();
    if (performance.now() > deadline || check(evidence).length === 0) return evidence;
  }
};

const readProgramStarts = async (path: string): Promise<ProgramStart[]> => {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [run, attempt] = line.split(' ');
    return run && attempt ? [{ run, attempt: Number(attempt) }] : [];
  });
};
