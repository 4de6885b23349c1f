import { fileURLToPath } from 'node:url';

/** The program of the runs: `EXECUTOR_PROGRAMS`. */
const PROGRAM = 'nothing';

/** It computes nothing: three updates of its progress, and a text of 1,000 characters that cannot be compressed. */
export const RESIDENT_PROGRAM = {
  [PROGRAM]: {
    command: process.execPath,
    args: [fileURLToPath(new URL('nothing.mjs', import.meta.url))],
    mode: 'resident',
    readable: [fileURLToPath(new URL('.', import.meta.url))],
  },
};

/** A request to the API. The answer is 200, or this throws. */
export type CallApi = (path: string, body?: object) => Promise<Record<string, unknown>>;

export interface Deployments {
  /** Its runs are executed at once. */
  readonly executed: string;
  /** Its runs wait: no executor has the model of its machine. */
  readonly waiting: string;
}

/** Deployments of the sample's workflow version, beside that of the sample. */
export const createDeployments = async (call: CallApi, sampleId: string): Promise<Deployments> => {
  const { workflow_version_id, environment } = await call(`/deployments/${sampleId}`);
  const create = async (name: string, gpu: string): Promise<string> => {
    const machine = await call('/machines', { name, gpu, runner: { kind: 'program', program: PROGRAM } });
    const deployment = { name, workflow_version_id, machine_id: machine['id'], environment };
    return String((await call('/deployments', deployment))['id']);
  };
  return { executed: await create('executed', 'CPU'), waiting: await create('waiting', 'H100') };
};
