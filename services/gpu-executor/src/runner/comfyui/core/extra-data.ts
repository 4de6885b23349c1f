import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { RunnerWork } from '../../../runners/runner.ts';
import type { PngInfo } from './workflow.ts';

/**
 * What the server gets beside the nodes of a prompt: what save nodes write into pictures, and the credentials of its own API nodes. It
 * keeps credentials out of its queue and history.
 */
export type ExtraData = Readonly<Record<string, unknown>>;

/** The inputs of a run that are credentials for API nodes. No node takes them as a value. */
const CREDENTIALS = ['api_key_comfy_org', 'auth_token_comfy_org'] as const;

type Work = Pick<RunnerWork, 'inputs' | 'secretInputs'>;

export const extraData = ({ inputs }: Pick<Work, 'inputs'>, pngInfo: PngInfo | undefined): ExtraData => ({
  ...(pngInfo && { extra_pnginfo: pngInfo }),
  ...Object.fromEntries(CREDENTIALS.flatMap((name) => (isGiven(inputs, name) ? [[name, inputs[name]]] : []))),
});

export const withoutCredentials = (inputs: Work['inputs']): Work['inputs'] =>
  Object.fromEntries(Object.entries(inputs).filter(([name]) => !CREDENTIALS.some((each) => each === name)));

/** Why a run with a credential that everybody may read is not executed; null for any other one. */
export const openCredentials = ({ inputs, secretInputs }: Work): AttemptError | null => {
  const open = CREDENTIALS.find((name) => isGiven(inputs, name) && !secretInputs.includes(name));
  if (open === undefined) return null;
  const why = `The input "${open}" is a credential, and everybody who may read the run can read it. Create a version that declares it as secret, and replace the key.`;
  return errorOf('invalid_inputs', why);
};

const isGiven = (inputs: Work['inputs'], name: string): boolean =>
  Object.hasOwn(inputs, name) && inputs[name] !== null;
