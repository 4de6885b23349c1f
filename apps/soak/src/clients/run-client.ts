import { setTimeout as pause } from 'node:timers/promises';
import type { Organisation } from '../cluster/organisation.ts';
import type { Clock } from '../cluster/clock.ts';
import type { Answer, Exchange, RunStream } from './client-records.ts';
import type { Chance } from '../parameters/random.ts';
import { sendAndRecord, type SendRequest, type Request } from './api.ts';
import type { RunPlan } from './plan.ts';
import { streamRun } from './stream-run.ts';

export interface Clients {
  /** Carries out a plan to its end. Never rejects. */
  readonly runPlan: (plan: RunPlan) => Promise<void>;
  /** Cancels whatever runs of the deployment for that. */
  readonly cancelSweptRuns: () => Promise<void>;
}

export interface ClientsSpec {
  readonly organisation: Organisation;
  readonly gateways: readonly string[];
  readonly receiver: string;
  readonly now: Clock;
  /** Who asks which gateway: not part of what a seed repeats. */
  readonly random: Chance;
  readonly exchanges: Exchange[];
  readonly streams: RunStream[];
  /** When whoever still waits gives up. */
  readonly signal: AbortSignal;
}

const WITHIN_MS = 8_000;
const WAIT_S = 15;
const LOOK_EVERY_MS = [300, 3_000] as const;
const AGAIN_AFTER_MS = [100, 1_500] as const;

export const clients = (spec: ClientsSpec): Clients => {
  const { organisation, gateways, random, signal, exchanges, streams, now } = spec;
  const ask: SendRequest = sendAndRecord(organisation.api_key, now, (exchange) => exchanges.push(exchange));
  const [first = '', ...others] = gateways;
  const gateway = (): string => random.pick([first, ...others]);
  const rest = (ms: number): Promise<void> => pause(ms, undefined, { signal }).catch(() => undefined);

  /** Asks again, of any gateway, until there is an answer that is none of a service in trouble. */
  const untilAnswered = async (
    request: Omit<Request, 'gateway' | 'withinMs'>,
    firstWithinMs: number | null = null,
  ): Promise<Answer | undefined> => {
    for (let withinMs = firstWithinMs ?? WITHIN_MS; !signal.aborted; withinMs = WITHIN_MS) {
      const answer = await ask({ ...request, gateway: gateway(), withinMs });
      if (answer.kind !== 'lost' && !(answer.kind === 'refused' && answer.status === 503)) return answer;
      await rest(random.integer(...AGAIN_AFTER_MS));
    }
    return undefined;
  };

  const queue = async (plan: RunPlan): Promise<string | undefined> => {
    const { request, key, deployment, gpu, work, webhook, impatientAfter } = plan;
    const body = {
      deployment_id: organisation.deployments[deployment],
      inputs: { ...work, request },
      ...(gpu === null ? {} : { gpu }),
      ...(webhook === 'none' ? {} : { webhook: `${spec.receiver}/${request}` }),
      webhook_intermediate_status: webhook === 'every state',
    };
    const asked = {
      asked: 'queue',
      request,
      run: null,
      key,
      method: 'POST',
      path: '/run/deployment/queue',
      body,
    } as const;
    // Without a key nobody knows whether a lost answer stands for a run: such a client asks once.
    const answer =
      key === null
        ? await ask({ ...asked, gateway: gateway(), withinMs: WITHIN_MS })
        : await untilAnswered(asked, impatientAfter);
    return answer?.kind === 'queued' ? answer.run : undefined;
  };

  const look = async (run: string, request: number, waitS: number): Promise<boolean> => {
    const path = waitS === 0 ? `/run/${run}` : `/run/${run}?wait=${waitS}`;
    const withinMs = WITHIN_MS + waitS * 1_000;
    const asked = waitS === 0 ? 'get' : 'wait';
    const answer = await ask({ asked, request, run, method: 'GET', path, gateway: gateway(), withinMs });
    return answer.kind === 'shown' && answer.shown.finished;
  };

  const lookUntilEnded = async (run: string, request: number, waitS: number): Promise<void> => {
    let every: number = LOOK_EVERY_MS[0];
    while (!signal.aborted && !(await look(run, request, waitS))) {
      await rest(every);
      every = Math.min(every * 1.5, LOOK_EVERY_MS[1]);
    }
  };

  const watch = async (run: string, { watch, request }: RunPlan): Promise<void> => {
    switch (watch) {
      case 'looks':
        return lookUntilEnded(run, request, 0);
      case 'waits':
        return lookUntilEnded(run, request, WAIT_S);
      case 'streams':
        streams.push(await streamRun({ run, apiKey: organisation.api_key, gateway, now, signal }));
        // What a stream has told no later read may take back.
        await look(run, request, 0);
    }
  };

  const cancel = async (run: string, { cancelAfter, request }: RunPlan): Promise<void> => {
    if (cancelAfter === null) return;
    await rest(cancelAfter);
    await untilAnswered({ asked: 'cancel', request, run, method: 'POST', path: `/run/${run}/cancel` });
    await look(run, request, 0);
  };

  const rerun = async (run: string, plan: RunPlan): Promise<void> => {
    if (!plan.rerun) return;
    const { request } = plan;
    const key = `soak-${request}-again`;
    const path = `/run/${run}/rerun`;
    const body = { inputs: { what: 'success', seconds: '0.1', request, again: true } };
    const answer = await untilAnswered({ asked: 'rerun', request, run, key, method: 'POST', path, body });
    if (answer?.kind === 'queued') await lookUntilEnded(answer.run, request, WAIT_S);
  };

  return {
    runPlan: async (plan) => {
      const run = await queue(plan);
      if (run === undefined) return;
      // A read right after the answer finds it, at any gateway.
      await look(run, plan.request, 0);
      await Promise.all([watch(run, plan), cancel(run, plan)]);
      await rerun(run, plan);
    },
    cancelSweptRuns: async () => {
      const body = { filter: { deployment_id: organisation.deployments.swept } };
      const path = '/runs/cancel';
      const asked = { asked: 'cancel_many', request: 0, run: null, method: 'POST', path, body } as const;
      await ask({ ...asked, gateway: gateway(), withinMs: WITHIN_MS * 2 });
    },
  };
};
