import { setTimeout as pause } from 'node:timers/promises';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { orgId, runId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { head } from '@runledger/event-log/read/read-run';
import { assigned, started, succeeded } from '@runledger/testing/events/run-events';
import type { TestCluster } from '../../fixtures/gateway/a-cluster.ts';
import { openEventSource } from '../../runs/subscribe/an-event-source.ts';
import { shownRuns, type ShownRun, type ShownRuns } from './shown-runs.ts';

export interface Observed {
  readonly wentBack: readonly object[];
  /** How many reads were answered, by gateway. */
  readonly reads: readonly number[];
  /** How many facts arrived in streams. */
  readonly streamed: number;
}

interface Clients {
  readonly cluster: TestCluster;
  readonly shown: ShownRuns;
  readonly over: AbortSignal;
  readonly reads: number[];
  streamed: number;
}

/** Queues, cancels, reads, waits for, and follows runs through every gateway until the faults are over. */
export const clientsDuring = async (cluster: TestCluster, faults: () => Promise<void>): Promise<Observed> => {
  const ending = new AbortController();
  const over = ending.signal;
  const shown = shownRuns();
  const clients: Clients = { cluster, shown, over, reads: cluster.gateways.map(() => 0), streamed: 0 };
  const untilOver = async (work: () => Promise<void>): Promise<void> => {
    while (!over.aborted) await work();
  };
  let runs = 0;
  await Promise.all([
    ...cluster.gateways.flatMap((_, at) => [
      untilOver(() => execute(clients, at, (runs += 1))),
      untilOver(() => read(clients, at, '')),
      untilOver(() => read(clients, at, '')),
      untilOver(() => read(clients, at, '?wait=2')),
      untilOver(() => follow(clients, at)),
    ]),
    faults().finally(() => ending.abort()),
  ]);
  return { wentBack: shown.wentBack, reads: clients.reads, streamed: clients.streamed };
};

const PAUSE_MS = 50;

/** Queues a run. Of three, one is cancelled, one ends, and one goes on executing. */
const execute = async (clients: Clients, at: number, number: number): Promise<void> => {
  const { cluster, shown } = clients;
  const { org_id, deployment } = cluster.tenant;
  const answer = await send(clients, at, '/run/deployment/queue', { deployment_id: deployment.id });
  if (answer?.status !== 200) return pause(PAUSE_MS);
  const key = { org_id: orgId(org_id), run_id: runId(String(answer.body['run_id'])) };
  const run = shown.add(key);
  if (number % 3 === 0) {
    const cancelled = await send(clients, at + 1, `/run/${key.run_id}/cancel`, {});
    if (cancelled?.status === 200) shown.show(run, cancelled.body['status']);
    return;
  }
  if (await isStored(clients, assigned(key))) shown.show(run, 'started');
  if (await isStored(clients, started(key))) shown.show(run, 'running');
  if (number % 3 === 1 && (await isStored(clients, succeeded(key)))) shown.show(run, 'success');
};

const read = async (clients: Clients, at: number, query: string): Promise<void> => {
  const { shown, reads } = clients;
  const run = shown.recent();
  if (!run) return pause(PAUSE_MS);
  const before = run.rank;
  const answer = await send(clients, at, `/run/${run.key.run_id}${query}`);
  if (answer?.status !== 200 && answer?.status !== 404) return pause(PAUSE_MS);
  reads[at] = (reads[at] ?? 0) + 1;
  shown.answered(run, before, answer.body['status'], `GET ${query} at gateway ${at}`);
};

const FOLLOW_FOR_MS = 3_000;

/** What a stream shows, every later read shows too. */
const follow = async (clients: Clients, at: number): Promise<void> => {
  const { cluster, shown } = clients;
  const run = shown.recent();
  const gateway = cluster.gateways[at];
  if (!run || !gateway) return pause(PAUSE_MS);
  const source = await openEventSource(gateway.eventsOf(run.key), cluster.tenant.key).catch(() => undefined);
  if (source?.status === 404) shown.answered(run, run.rank, undefined, `a stream at gateway ${at}`);
  if (source?.status !== 200) return pause(PAUSE_MS);
  await using open = source;
  const isOver = open.ended.then(
    () => true,
    () => true,
  );
  const until = performance.now() + FOLLOW_FOR_MS;
  for (let seen = 0, ended = false; !ended && performance.now() < until;) {
    ended = await Promise.race([isOver, pause(20, false)]);
    seen += takeFacts(clients, run, open.facts().slice(seen));
  }
};

const takeFacts = (
  clients: Clients,
  run: ShownRun,
  facts: readonly { readonly data: { readonly status?: unknown } }[],
): number => {
  for (const { data } of facts) clients.shown.show(run, data.status);
  clients.streamed += facts.length;
  return facts.length;
};

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const ANSWER_WITHIN_MS = 20_000;

/** Undefined without a response. */
const send = async (
  { cluster, over }: Clients,
  at: number,
  path: string,
  body?: object,
): Promise<Answer | undefined> => {
  const { gateways, tenant } = cluster;
  const headers = { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' };
  const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_WITHIN_MS), over]);
  const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  try {
    const response = await fetch(`${gateways[at % gateways.length]?.api}${path}`, {
      headers,
      signal,
      ...sent,
    });
    return { status: response.status, body: Object(await response.json()) };
  } catch {
    return undefined;
  }
};

/** False when another fact came first, or the faults are over. */
const isStored = async ({ cluster: { log }, over }: Clients, event: RunEvent): Promise<boolean> => {
  const key = { org_id: orgId(event.org_id), run_id: runId(event.run_id) };
  const appended = await retryWhileUnavailable({ signal: over, logger: silentLogger }, async () =>
    append(log, event, Math.max(await head(log, key), 1)),
  ).catch(() => undefined);
  return appended?.kind === 'appended';
};
