import { waitFor } from '@runledger/testing/wait-for';
import { members } from '../deploy/workspaces.ts';

const ENDED_WITHIN_MS = 120_000;

/** Queues a run of the sample, and returns the run when it has ended. `created` is the output of `organisations create --json`. */
export const runSample = async (api: string, created: string): Promise<Record<string, unknown>> => {
  const { api_key, deployment_id } = members(JSON.parse(created));
  const call = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${api}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${String(api_key)}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return members(JSON.parse(text));
  };
  const { run_id } = await call('/run/deployment/queue', { deployment_id, inputs: { seconds: 1 } });
  return waitFor(
    'the run to end',
    async () => {
      const run = await call(`/run/${String(run_id)}?wait=20`);
      return run['finished'] === true ? run : undefined;
    },
    { withinMs: ENDED_WITHIN_MS },
  );
};
