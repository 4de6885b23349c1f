import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { unpackRun } from '@runledger/gateway/archive/run-object';
import { archive as archiveCheck } from '../checks/archive.ts';
import { deletions } from '../checks/contents.ts';
import { views } from '../checks/responses.ts';
import { reasonOf } from '../clients/api.ts';
import type { ClientRecords } from '../clients/client-records.ts';
import type { RunPlan } from '../clients/plan.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { programStartsPath } from '../cluster/service-environment.ts';
import type {
  ArchiveEvidence,
  Check,
  Evidence,
  ProgramStart,
  SharingEvidence,
  GatewayResponses,
  Promises,
} from './evidence.ts';
import { foldRuns, runsOf, type LoggedRuns, everyMessage, vanishedFrom } from './logged-run.ts';
import { namedAt, type ArchiveTrouble } from '../faults/archive-faults.ts';
import { brokerRefusals } from '../faults/trespass.ts';
import type { InjectedTrouble } from '../faults/trouble.ts';
import type { Size } from '../size.ts';
import { readLog, type RecordedLog } from './read-log.ts';
import {
  gatewayResponses,
  poolsResponse,
  fileResponses,
  logsResponses,
  recordResponses,
} from './api-answers.ts';

interface CollectionOptions {
  readonly cluster: Cluster;
  readonly recorded: RecordedLog;
  readonly records: ClientRecords;
  readonly trouble: InjectedTrouble;
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
  trouble,
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
    vanished: vanishedFrom(stored, recorded.messages, trouble.limits, size),
    shown: [],
    files: [],
    logs: [],
    catalogue: [],
    strangerResponses: await strangerResponses(cluster, runs),
    org_id: cluster.organisation.org_id,
    glutton_id: cluster.glutton.org_id,
    sharing: sharingOf(cluster, await poolsResponse(cluster)),
    programStarts: await readProgramStarts(programStartsPath(folder)),
    deadLetters: await listDeadLetters(cluster.log, { limit: MAX_DEAD_LETTERS }),
    faults: cluster.journal,
    ...trouble,
    archive: { ...trouble.archive, stillNamed: [], kept: undefined },
    promises,
    refusedUploads: await refusedUploads(folder),
    unarchived: await unarchivedMessages(folder),
    brokerRefusals: await brokerRefusals(folder),
    size,
  };
  const { gateways, organisation } = cluster;
  const keys = [...runsOf(evidence, evidence.org_id).keys()];
  const caughtUp = await untilPassing(views, async () => {
    const shown = await responsesFor(organisation.api_key, gateways, keys);
    // The log may have got a late fact meanwhile, which gateways show.
    return { ...evidence, shown, runs: runsNow() };
  });
  const ownRuns = runsOf(caughtUp, evidence.org_id);
  const catalogue = await recordResponses(cluster, records.catalogue);
  const logs = await logsResponses(gateways, organisation.api_key, ownRuns);
  const erased = await untilPassing(deletions, async () => ({
    ...caughtUp,
    files: await fileResponses(gateways, ownRuns),
  }));
  return untilPassing(archiveCheck, async () => ({
    ...erased,
    catalogue,
    logs,
    archive: await archiveNow(cluster, trouble.archive),
  }));
};

const archiveNow = async (
  { health, archive }: Cluster,
  trouble: ArchiveTrouble,
): Promise<ArchiveEvidence> => {
  const stillNamed = [...new Set((await Promise.all(health.map(namedAt))).flat())];
  if (!archive) return { ...trouble, stillNamed, kept: undefined };
  const kept = await Promise.all(
    archive.objects().map(async ({ key, bytes }) => [key.run_id, await sequencesIn(key, bytes)] as const),
  );
  return { ...trouble, stillNamed, kept: new Map(kept) };
};

const sequencesIn = async (key: RunKey, bytes: Buffer): Promise<ReadonlySet<number> | 'damaged'> => {
  try {
    const { life, webhook } = await unpackRun(key, bytes, key.run_id);
    return new Set([...life, ...webhook].map(({ sequence }) => sequence));
  } catch {
    return 'damaged';
  }
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

const responsesFor = (
  apiKey: string,
  gateways: readonly string[],
  runs: readonly string[],
): Promise<GatewayResponses[]> =>
  Promise.all(
    gateways.map((gateway) =>
      gatewayResponses(gateway, apiKey, runs).catch((error: unknown) => {
        return { gateway, listed: [], read: [], failure: reasonOf(error) };
      }),
    ),
  );

/** A sample of the runs is enough: clients tried others while they ran. */
const STRANGER_READS = 50;

const strangerResponses = (
  { gateways, stranger }: Cluster,
  runs: LoggedRuns,
): Promise<readonly GatewayResponses[]> =>
  responsesFor(stranger.api_key, gateways, [...runs.keys()].slice(0, STRANGER_READS));

/** What is looked at, as soon as it is correct or the time is up. */
const untilPassing = async (check: Check, look: () => Promise<Evidence>): Promise<Evidence> => {
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

/** What executors log about a file that they send again. Clients see nothing of it. */
const refusedUploads = async (folder: string): Promise<Evidence['refusedUploads']> =>
  (await linesOf(folder, 'gpu-executor', 'storing a file again')).flatMap((line) => {
    const { run_id, why } = line as { readonly run_id?: string; readonly why?: string };
    return run_id === undefined || why === undefined ? [] : [{ run: run_id, why }];
  });

/** How many messages left the log before gateways had archived them. */
const unarchivedMessages = async (folder: string): Promise<number> =>
  (await linesOf(folder, 'gateway', 'messages left the log before they were archived')).reduce<number>(
    (sum, line) => sum + (line as { readonly messages: number }).messages,
    0,
  );

/** The lines with this message that processes of a service have logged. */
const linesOf = async (folder: string, service: string, message: string): Promise<unknown[]> => {
  const logs = join(folder, 'logs');
  const names = (await readdir(logs)).filter((name) => name.startsWith(service));
  const texts = await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes(JSON.stringify(message)))
    .map((line): unknown => JSON.parse(line));
};
