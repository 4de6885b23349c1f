import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { callsOf, type Api } from './calls.ts';

/** A program that stays loaded. It has a model that takes its time, and paints a large picture of noise. */
const PROGRAM = `import os, time
from runledger_resident import serve

time.sleep(1.2)

def run(inputs, context):
    if inputs.get("colour") == "infrared":
        raise ValueError("no screen shows the colour infrared")
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

/** Deployments by their ids. */
export interface Made {
  readonly sample: string;
  /** Of the program that stays loaded. */
  readonly noise: string;
}

/** Deploys the program. @throws Error when the API refuses something */
export const deployNoise = async (api: Api): Promise<string> => {
  const { made } = callsOf(api);
  const machine = await made('/machines', {
    name: 'painter',
    gpu: 'A10G',
    type: 'program',
    runner: { kind: 'program', program: 'paint' },
  });
  const workflow = await made('/workflows', { name: 'noise' });
  const version = await made(`/workflows/${workflow}/versions`, { workflow: {} });
  return made('/deployments', { name: 'noise', workflow_version_id: version, machine_id: machine });
};

/**
 * The waterfall of a run that waits for the only slot, loads its model, executes, stores a large file, and is announced to a webhook
 * that accepts the second request. @throws Error when the API refuses something
 */
export const waterfallOfARun = async (api: Api, { sample, noise }: Made): Promise<string> => {
  const { call, made } = callsOf(api);
  await using webhook = await openWebhook();
  const queue = (id: string, more: object): Promise<string> =>
    made('/run/deployment/queue', { deployment_id: id, ...more });
  await queue(sample, { inputs: { seconds: 1 } });
  const run = await queue(noise, { webhook: webhook.url });
  for (const giveUpAtMs = performance.now() + 120_000; webhook.answered() < 2; await pause(200))
    if (performance.now() > giveUpAtMs) throw new Error(`The webhook of run ${run} was not delivered.`);
  // The outcome of the delivery is stored after the answer.
  await pause(1_000);
  return call(`/run/${run}/history.svg`);
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
