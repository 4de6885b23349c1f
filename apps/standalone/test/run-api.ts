import { waitFor } from '@runledger/testing/wait-for';

/** The part of a run's response that these tests speak of. */
export interface RunShown {
  readonly id: string;
  readonly org_id: string;
  readonly status: string;
  readonly progress: number;
  readonly number: number;
  readonly live_status: string | null;
  readonly end_reason: string | null;
  readonly finished: boolean;
  readonly created_at: string;
  readonly queued_at: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly updated_at: string;
  readonly compute_function_call_id: string | null;
  readonly webhook_status: string | null;
  readonly outputs: readonly {
    readonly data: Readonly<
      Record<string, readonly (string | { readonly url: string; readonly filename: string })[]>
    >;
  }[];
}

/** The part of a delivery's response that these tests speak of. */
interface DeliveriesShown {
  readonly webhook_status: string | null;
  readonly round: number;
  readonly state: string | null;
  readonly next_try_at: string | null;
  readonly tries: readonly {
    readonly webhook_id: string;
    readonly round: number;
    readonly try: number;
    readonly reason: string;
    readonly status: number | null;
    readonly started_at: string;
  }[];
  readonly intermediate: { readonly reason: string } | null;
}

interface ListedDelivery {
  readonly run_id: string;
  readonly webhook_status: string;
  readonly tries: number;
}

export interface Access {
  readonly url: string;
  readonly api_key: string;
  readonly deployment_id: string;
}

export interface RunApi {
  readonly queue: (
    inputs?: Readonly<Record<string, unknown>>,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<string>;
  readonly get: (run: string) => Promise<RunShown>;
  readonly cancel: (
    run: string,
  ) => Promise<{ readonly run_id: string; readonly status: string; readonly outcome: string }>;
  readonly deliveries: (run: string) => Promise<DeliveriesShown>;
  /** Of the organisation, newest first. */
  readonly listDeliveries: (query?: string) => Promise<readonly ListedDelivery[]>;
  readonly redeliver: (run: string) => Promise<{ readonly webhook_status: string; readonly round: number }>;
  readonly webhookSecret: () => Promise<string>;
  readonly ended: (run: string, withinMs: number) => Promise<RunShown>;
  readonly reaches: (run: string, status: string, withinMs: number) => Promise<RunShown>;
}

/** A client that fails loudly on any answer but 200. */
export const runApi = ({ url, api_key, deployment_id }: Access): RunApi => {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${api_key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  const get = async (run: string): Promise<RunShown> => (await call('GET', `/run/${run}`)) as RunShown;
  const when = (
    run: string,
    what: string,
    fits: (shown: RunShown) => boolean,
    withinMs: number,
  ): Promise<RunShown> =>
    waitFor(
      `run ${run} ${what}`,
      async () => {
        // While a service is being started again a GET may fail; that is no answer yet.
        const shown = await get(run).catch(() => undefined);
        return shown && fits(shown) ? shown : undefined;
      },
      { withinMs },
    );
  return {
    queue: async (inputs = {}, more = {}) => {
      const queued = (await call('POST', '/run/deployment/queue', { deployment_id, inputs, ...more })) as {
        run_id: string;
      };
      return queued.run_id;
    },
    get,
    cancel: async (run) =>
      (await call('POST', `/run/${run}/cancel`)) as Awaited<ReturnType<RunApi['cancel']>>,
    deliveries: async (run) => (await call('GET', `/run/${run}/deliveries`)) as DeliveriesShown,
    listDeliveries: async (query = '') => {
      const page = await call('GET', `/webhooks/deliveries?${query}`);
      return (page as { deliveries: ListedDelivery[] }).deliveries;
    },
    redeliver: async (run) =>
      (await call('POST', `/run/${run}/redeliver`)) as Awaited<ReturnType<RunApi['redeliver']>>,
    webhookSecret: async () => ((await call('GET', '/webhooks/secret')) as { secret: string }).secret,
    ended: (run, withinMs) => when(run, 'ends', ({ finished }) => finished, withinMs),
    reaches: (run, status, withinMs) =>
      when(run, `is ${status}`, (shown) => shown.status === status, withinMs),
  };
};
