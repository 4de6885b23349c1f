import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { views } from '../checks/views.ts';
import { reasonOf } from '../clients/api.ts';
import type { RunPlan } from '../clients/plan.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { programDiaryPath } from '../cluster/service-environment.ts';
import type { Size } from '../parameters/size.ts';
import type { Begun, Evidence, ShownByGateway } from '../evidence/evidence.ts';
import { foldRuns } from '../evidence/logged-run.ts';
import { readLog, type SeenLog } from './read-log.ts';
import type { ClientRecords } from '../clients/client-records.ts';
import { shownByGateway } from './shown-by-gateways.ts';

export interface CollectionOptions {
  readonly cluster: Cluster;
  readonly seen: SeenLog;
  readonly records: ClientRecords;
  readonly plans: readonly RunPlan[];
  readonly size: Size;
  readonly folder: string;
}

/** Views follow the log; what they have not reached after so long they never will. */
const VIEWS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 2_000;

export const collectEvidence = async ({
  cluster,
  seen,
  records,
  plans,
  size,
  folder,
}: CollectionOptions): Promise<Evidence> => {
  const messages = await readLog(cluster.log);
  const stored = new Map(messages.map((message) => [message.sequence, message]));
  const evidence: Evidence = {
    plans,
    records,
    runs: foldRuns(messages),
    vanished: seen.messages.filter((message) => !isDeepStrictEqual(stored.get(message.sequence), message)),
    shown: [],
    diary: await readDiary(programDiaryPath(folder)),
    deadLetters: await listDeadLetters(cluster.log, { limit: 1_000 }),
    faults: cluster.journal,
    size,
  };
  return { ...evidence, shown: await shownWhenCaughtUp(cluster, evidence) };
};

/** What all gateways show, once it is right or has had its time. */
const shownWhenCaughtUp = async (
  { gateways, organisation }: Cluster,
  evidence: Evidence,
): Promise<readonly ShownByGateway[]> => {
  const runs = [...evidence.runs.keys()];
  const look = (gateway: string): Promise<ShownByGateway> =>
    shownByGateway(gateway, organisation.api_key, runs).catch((error: unknown) => {
      return { gateway, listed: [], read: [], refuses: reasonOf(error) };
    });
  for (const deadline = performance.now() + VIEWS_WITHIN_MS; ; await pause(LOOK_EVERY_MS)) {
    const shown = await Promise.all(gateways.map(look));
    if (performance.now() > deadline || views({ ...evidence, shown }).length === 0) return shown;
  }
};

const readDiary = async (path: string): Promise<Begun[]> => {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [run, attempt] = line.split(' ');
    return run && attempt ? [{ run, attempt: Number(attempt) }] : [];
  });
};
