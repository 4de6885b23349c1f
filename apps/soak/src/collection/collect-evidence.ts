import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { views } from '../checks/views.ts';
import { reasonOf } from '../clients/api.ts';
import type { ClientRecords } from '../clients/client-records.ts';
import type { RunPlan } from '../clients/plan.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { programStartsPath } from '../cluster/service-environment.ts';
import type { Evidence, ProgramStart, ShownByGateway } from '../evidence/evidence.ts';
import { foldRuns, type LoggedRuns } from '../evidence/logged-run.ts';
import type { Size } from '../parameters/size.ts';
import { readLog, type RecordedLog } from './read-log.ts';
import { shownByGateway } from './shown-by-gateways.ts';

export interface CollectionOptions {
  readonly cluster: Cluster;
  readonly recorded: RecordedLog;
  readonly records: ClientRecords;
  readonly plans: readonly RunPlan[];
  readonly size: Size;
  readonly folder: string;
}

/** The views follow the log. What they do not show after this time counts as missing. */
const VIEWS_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 2_000;
const MAX_DEAD_LETTERS = 1_000;

export const collectEvidence = async ({
  cluster,
  recorded,
  records,
  plans,
  size,
  folder,
}: CollectionOptions): Promise<Evidence> => {
  const messages = await readLog(cluster.log);
  const stored = new Map(messages.map((message) => [message.sequence, message]));
  const runs = foldRuns(messages);
  const evidence: Evidence = {
    plans,
    records,
    runs,
    vanished: recorded.messages.filter(
      (message) => !isDeepStrictEqual(stored.get(message.sequence), message),
    ),
    shown: [],
    shownToStranger: await shownToStranger(cluster, runs),
    org_id: cluster.organisation.org_id,
    programStarts: await readProgramStarts(programStartsPath(folder)),
    deadLetters: await listDeadLetters(cluster.log, { limit: MAX_DEAD_LETTERS }),
    faults: cluster.journal,
    size,
  };
  return { ...evidence, shown: await shownWhenCaughtUp(cluster, evidence) };
};

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

/** What all gateways show, as soon as it is correct or the time is up. */
const shownWhenCaughtUp = async (
  { gateways, organisation }: Cluster,
  evidence: Evidence,
): Promise<readonly ShownByGateway[]> => {
  const runs = [...evidence.runs.keys()];
  for (const deadline = performance.now() + VIEWS_WITHIN_MS; ; await pause(POLL_EVERY_MS)) {
    const shown = await shownWith(organisation.api_key, gateways, runs);
    if (performance.now() > deadline || views({ ...evidence, shown }).length === 0) return shown;
  }
};

const readProgramStarts = async (path: string): Promise<ProgramStart[]> => {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [run, attempt] = line.split(' ');
    return run && attempt ? [{ run, attempt: Number(attempt) }] : [];
  });
};
