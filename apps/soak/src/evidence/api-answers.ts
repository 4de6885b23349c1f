import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { dirname } from 'node:path/posix';
import { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { RunPage } from '@runledger/contracts/http/runs/runs';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { QueuesPage } from '@runledger/contracts/http/queues';
import type { Pool } from '@runledger/contracts/requests/pools';
import { shownRun } from '../clients/api.ts';
import { type ShownByGateway, type ShownFile, type ShownLogs, isIdle, type ShownRecord } from './evidence.ts';
import { filesOf, type LoggedRuns, linesRequestedBy } from './logged-run.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { CreatedRecord } from '../clients/client-records.ts';

const Run = compiledSchema(WorkflowRun);
const Page = compiledSchema(RunPage);
const PAGE = 100;
const AT_ONCE = 4;
const WITHIN_MS = 20_000;

/** What a gateway shows of every run, in its list and one by one. @throws Error for an unexpected answer */
export const shownByGateway = async (
  gateway: string,
  apiKey: string,
  runs: readonly string[],
): Promise<ShownByGateway> => {
  const get = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${gateway}${path}`, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    return { status: response.status, body: await response.json() };
  };
  const listed: ShownByGateway['listed'][number][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body } = await get(
      `/runs?limit=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    if (status !== 200 || !Page.Check(body)) throw new Error(`${gateway} answered its list with ${status}`);
    listed.push(...body.runs.map((run) => ({ run: run.id, shown: shownRun(run) })));
    cursor = body.next_cursor;
  }
  const read: ShownByGateway['read'][number][] = [];
  const left = [...runs];
  const readOn = async (): Promise<void> => {
    for (let run = left.pop(); run !== undefined; run = left.pop()) {
      const { status, body } = await get(`/run/${run}?include=inputs,workflow_api`);
      if (status !== 404 && !Run.Check(body))
        throw new Error(`${gateway} answered run ${run} with ${status}`);
      read.push({ run, shown: Run.Check(body) ? shownRun(body) : null });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return { gateway, listed, read };
};

/** What all gateways answer for each file that the ends of runs list. */
export const shownFiles = async (
  gateways: readonly string[],
  runs: LoggedRuns,
): Promise<readonly ShownFile[]> => {
  const wanted = [...runs].flatMap(([run, logged]) =>
    filesOf(logged).flatMap(({ key, filename }) =>
      gateways.map((gateway) => ({ gateway, run, key, filename })),
    ),
  );
  const shown: ShownFile[] = [];
  const readOn = async (): Promise<void> => {
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      const { gateway, run, key, filename } = next;
      const { origin } = new URL(gateway);
      const url = `${origin}/outputs/${key}/${encodeURIComponent(filename)}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) });
      const content = Buffer.from(await response.arrayBuffer());
      const sha256 = createHash('sha256').update(content).digest('hex');
      shown.push({ gateway, run, key, status: response.status, sha256 });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return shown;
};

const Items = Type.Array(Type.Union([RunLogLine, RunLogCut, RunLogNotice]));

/** The logs of each run that was to write some, at one gateway after the other. @throws Error for an unexpected answer */
export const shownLogs = async (
  gateways: readonly string[],
  apiKey: string,
  runs: LoggedRuns,
): Promise<readonly ShownLogs[]> => {
  const wanted = [...runs].flatMap(([run, logged], at) => {
    const gateway = gateways[at % gateways.length];
    return gateway !== undefined && linesRequestedBy(logged) > 0 ? [{ gateway, run }] : [];
  });
  const shown: ShownLogs[] = [];
  const readOn = async (): Promise<void> => {
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      const { gateway, run } = next;
      const headers = { authorization: `Bearer ${apiKey}` };
      const url = `${gateway}/run/${run}/logs`;
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
      const lines = (await response.text()).split('\n').filter((line) => line !== '');
      const items: unknown = response.ok ? lines.map((line) => JSON.parse(line) as unknown) : [];
      if (!Value.Check(Items, items)) throw new Error(`${gateway} answered with unknown logs of run ${run}`);
      shown.push({ gateway, run, status: response.status, items });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return shown;
};

const PoolsPage = compiledSchema(QueuesPage);
const POOLS_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 10_000;
const AGAIN_AFTER_MS = 1_000;

/** Who waits and who holds slots, as soon as nobody does or the time is up; undefined if no gateway has said so. */
export const shownPools = async ({
  gateways,
  operatorKey,
}: Pick<Cluster, 'gateways' | 'operatorKey'>): Promise<readonly Pool[] | undefined> => {
  let pools: readonly Pool[] | undefined;
  const deadline = performance.now() + POOLS_WITHIN_MS;
  for (let tries = 0; performance.now() < deadline; tries += 1) {
    pools = (await read(gateways[tries % gateways.length] ?? '', operatorKey)) ?? pools;
    if (pools?.every(isIdle)) return pools;
    await pause(AGAIN_AFTER_MS);
  }
  return pools;
};

const read = async (gateway: string, operatorKey: string): Promise<readonly Pool[] | undefined> => {
  try {
    const response = await fetch(`${gateway}/queues`, {
      headers: { authorization: `Bearer ${operatorKey}` },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const body: unknown = await response.json();
    return PoolsPage.Check(body) ? body.pools : undefined;
  } catch {
    return undefined;
  }
};

const Ids = Type.Array(Type.Object({ id: Type.String() }));
const RecordsPage = compiledSchema(
  Type.Object({
    versions: Type.Optional(Ids),
    deployments: Type.Optional(Ids),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  }),
);

/** What all gateways answer for each record that clients created, and whether they list it. */
export const shownRecords = async (
  { gateways, organisation }: Cluster,
  records: readonly CreatedRecord[],
): Promise<readonly ShownRecord[]> => {
  const get = async (url: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const headers = { authorization: `Bearer ${organisation.api_key}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    return { status: response.status, body: await response.json() };
  };
  const idsListedAt = async (gateway: string): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    const lists = new Set(records.map((record) => dirname(record.path)));
    for (const list of lists) {
      for (const archived of [true, false]) {
        for (let cursor: string | null = ''; cursor !== null;) {
          const more = cursor && `&cursor=${encodeURIComponent(cursor)}`;
          const { body } = await get(`${gateway}${list}?limit=${PAGE}&archived=${archived}${more}`);
          if (!RecordsPage.Check(body)) throw new Error(`${gateway} answered ${list} with no list`);
          for (const { id } of body.versions ?? body.deployments ?? []) ids.add(id);
          cursor = body.next_cursor;
        }
      }
    }
    return ids;
  };
  return (
    await Promise.all(
      gateways.map(async (gateway) => {
        const listed = await idsListedAt(gateway);
        const shown: ShownRecord[] = [];
        for (const { path, members } of records) {
          const isListed = listed.has(String(members['id']));
          shown.push({ gateway, path, ...(await get(`${gateway}${path}`)), isListed });
        }
        return shown;
      }),
    )
  ).flat();
};
