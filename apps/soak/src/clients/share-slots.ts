import { setTimeout as pause } from 'node:timers/promises';
import { newUuid } from '@runledger/contracts/ids';
import type { Organisation, SharingOrganisations } from '../cluster/organisation.ts';
import { SHARED_GPU } from '../cluster/service-environment.ts';
import { send } from './api.ts';
import type { Taking } from './client-records.ts';
import {
  contextOf,
  QUEUE,
  readUntilEnded,
  sendUntilAnswered,
  WAIT_S,
  type ClientContext,
  type LoadOptions,
} from './client-context.ts';

/** For organisations that take more than the others. */
export interface GreedyOptions extends LoadOptions {
  /** Takes everything that all share. */
  readonly glutton: Organisation;
  /** Its requests. */
  readonly takings: Taking[];
  readonly sharing: SharingOrganisations;
  /** Of the model that they share. */
  readonly slots: number;
  /** Whether the log has a run of the organisation that has not ended. */
  readonly hasOpenRuns: (org_id: string) => boolean;
}

/** Long, so that a machine that is busy anyway starts few programs for them. */
export const GREEDY_S = 8;
/** So many of its runs wait for each slot. */
const DEPTH = 10;
const MODEST_S = 1;
const MODEST_EVERY_MS = [1_000, 5_000] as const;

/** A run of an organisation that shares slots. */
interface SharedRun {
  readonly deployment: 'ordinary' | 'limited';
  readonly seconds: number;
  readonly concurrency_key?: string;
}

/**
 * Two organisations queue more runs than all slots could execute, and one of them has deployments of all kinds of limits. The third
 * one queues a single run now and then. In the end they cancel what waits.
 */
export const shareSlots = async (options: GreedyOptions, forMs: number): Promise<void> => {
  const { sharing, slots } = options;
  const over = AbortSignal.any([options.signal, AbortSignal.timeout(forMs)]);
  const contexts = sharing.greedy.map((organisation) => contextFor(options, organisation, over));
  const modest = contextFor(options, sharing.modest, over);
  await Promise.all([
    ...contexts.map((context, at) => beGreedy(context, slots, at === 0 ? KINDS : [KINDS[0]])),
    beModest(modest),
  ]);
  await Promise.all(sharing.greedy.map((organisation) => cancelAllRuns(options, organisation)));
};

/** After everything has ended: a run for each limit. It ends only if no slot is counted that nobody holds any more. */
export const useLimitsAgain = async (options: GreedyOptions): Promise<void> => {
  const [greedy, limited] = options.sharing.greedy;
  const last = [
    ...KINDS.map((kind) => ({ organisation: greedy, kind })),
    { organisation: limited, kind: KINDS[0] },
  ];
  await Promise.all(
    last.map(({ organisation, kind }) =>
      executeOne(contextFor(options, organisation, options.signal), { ...kind, seconds: 0 }),
    ),
  );
};

const KINDS = [
  { deployment: 'ordinary', seconds: GREEDY_S },
  { deployment: 'ordinary', seconds: GREEDY_S, concurrency_key: 'document' },
  { deployment: 'limited', seconds: GREEDY_S },
] as const satisfies SharedRun[];

const contextFor = (options: GreedyOptions, organisation: Organisation, signal: AbortSignal) =>
  contextOf({ ...options, organisation, signal });

const beGreedy = async (
  context: ClientContext,
  slots: number,
  kinds: readonly SharedRun[],
): Promise<void> => {
  for (let count = 0; !context.signal.aborted; count += 1) {
    const kind = kinds[count % kinds.length];
    if (kind) await queueOne(context, kind);
    if (count >= DEPTH * slots) await context.rest((GREEDY_S * 1_000) / slots);
  }
};

const beModest = async (context: ClientContext): Promise<void> => {
  while (!context.signal.aborted) {
    await executeOne(context, { deployment: 'ordinary', seconds: MODEST_S });
    await context.rest(context.random.integer(...MODEST_EVERY_MS));
  }
};

const executeOne = async (context: ClientContext, kind: SharedRun): Promise<void> => {
  const run = await queueOne(context, kind);
  if (run !== undefined) await readUntilEnded(context, run, 0, WAIT_S);
};

const queueOne = async (
  context: ClientContext,
  { deployment, seconds, ...kind }: SharedRun,
): Promise<string | undefined> => {
  const { organisation } = context;
  const body = {
    deployment_id: organisation.deployments[deployment],
    inputs: { what: 'success', seconds: String(seconds) },
    gpu: SHARED_GPU,
    ...kind,
  };
  const key = newUuid();
  const request = { kind: 'queue', request: 0, run: null, key, method: 'POST', path: QUEUE, body } as const;
  const answer = await sendUntilAnswered(context, request);
  return answer?.kind === 'queued' ? answer.run : undefined;
};

const WITHIN_MS = 60_000;
const MAX_TRIES = 100;
const AGAIN_AFTER_MS = 2_000;

/** Again and again: a gateway whose views are derived again cancels those that they have already. */
export const cancelAllRuns = async (
  { gateways, hasOpenRuns }: GreedyOptions,
  organisation: Organisation,
): Promise<void> => {
  for (let tries = 0; tries < MAX_TRIES && hasOpenRuns(organisation.org_id); tries += 1) {
    const gateway = gateways[tries % gateways.length] ?? '';
    try {
      const response = await send(`${gateway}/runs/cancel`, {
        apiKey: organisation.api_key,
        method: 'POST',
        body: { filter: {} },
        signal: AbortSignal.timeout(WITHIN_MS),
      });
      await response.text();
    } catch {
      // The gateway is away.
    }
    await pause(AGAIN_AFTER_MS);
  }
};
