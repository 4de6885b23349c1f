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
  readonly outputs: readonly {
    readonly data: Readonly<
      Record<string, readonly (string | { readonly url: string; readonly filename: string })[]>
    >;
  }[];
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
    ended: (run, withinMs) => when(run, 'ends', ({ finished }) => finished, withinMs),
    reaches: (run, status, withinMs) =>
      when(run, `is ${status}`, (shown) => shown.status === status, withinMs),
  };
};
