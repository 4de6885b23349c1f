import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A program that stays loaded. It has a model that takes its time, and paints a large picture of noise. */
const PROGRAM = `import os, time
from runledger_resident import serve

time.sleep(1.2)

def run(inputs, context):
    for step in range(1, 11):
        time.sleep(0.2)
        context.progress(step / 10, f"step {step}/10")
    (context.output_dir / "noise.bin").write_bytes(os.urandom(40_000_000))

serve(run)
`;

/** The settings of an executor with one slot, which may run the program. */
export const executorOf = async (
  folder: string,
  clone: string,
): Promise<Readonly<Record<string, string>>> => {
  const program = join(folder, 'paint.py');
  await writeFile(program, PROGRAM);
  const env = { PYTHONPATH: join(clone, 'packages', 'resident-python', 'src') };
  return {
    EXECUTOR_GPUS: 'A10G:1',
    EXECUTOR_PROGRAMS: JSON.stringify({
      paint: { command: 'python3', args: [program], env, mode: 'resident' },
    }),
  };
};

interface Api {
  readonly url: string;
  readonly key: string;
  readonly deployment: string;
}

/**
 * The waterfall of a run that waits for the only slot, loads its model, executes, stores a large file, and is announced to a webhook
 * that accepts the second request. @throws Error when the API refuses something
 */
export const waterfallOfARun = async ({ url, key, deployment: sample }: Api): Promise<string> => {
  const call = async (path: string, body?: object): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return text;
  };
  const made = async (path: string, body: object): Promise<string> => idIn(await call(path, body));
  const machine = await made('/machines', {
    name: 'painter',
    gpu: 'A10G',
    type: 'program',
    runner: { kind: 'program', program: 'paint' },
  });
  const workflow = await made('/workflows', { name: 'noise' });
  const version = await made(`/workflows/${workflow}/versions`, { workflow: {} });
  const names = { workflow_version_id: version, machine_id: machine };
  const deployment = await made('/deployments', { name: 'noise', ...names });
  await using webhook = await openWebhook();
  const queue = (id: string, more: object): Promise<string> =>
    made('/run/deployment/queue', { deployment_id: id, ...more });
  await queue(sample, { inputs: { seconds: 1 } });
  const run = await queue(deployment, { webhook: webhook.url });
  for (const giveUpAtMs = performance.now() + 120_000; webhook.answered() < 2; await pause(200))
    if (performance.now() > giveUpAtMs) throw new Error(`The webhook of run ${run} was not delivered.`);
  // The outcome of the delivery is stored after the answer.
  await pause(1_000);
  return call(`/run/${run}/history.svg`);
};

const idIn = (answer: string): string => {
  const found = /"(?:id|run_id)":"([^"]+)"/.exec(answer)?.[1];
  if (found === undefined) throw new Error(`There is no id in ${answer}`);
  return found;
};

/** It refuses the first request, and accepts the others. */
const openWebhook = async () => {
  let answered = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      answered += 1;
      response.writeHead(answered === 1 ? 503 : 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    answered: () => answered,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
};
