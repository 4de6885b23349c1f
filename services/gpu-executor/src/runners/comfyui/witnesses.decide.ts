import { errorOf, errorMessage, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME, MAX_WARNING_MESSAGE } from '@runledger/contracts/limits';
import { isJsonObject } from '@runledger/contracts/json';
import type { RunWarning } from '@runledger/contracts/events/run-warning';
import { asksForDefault, externalNodes, externalNode } from './bind-inputs.decide.ts';
import { nodeName } from './prompt-error.decide.ts';
import type { ComfyWorkflow } from './workflow.decide.ts';

/** A node beside those of the workflow: it shows what a node of ComfyUI Deploy has made of its input, which says so nowhere itself. */
interface Witness {
  readonly node: string;
  readonly input: string;
  /** What it shows when the node has nothing. */
  readonly nothing: RegExp;
}

/** By their own ids. They are no part of what the run makes. */
export type Witnesses = ReadonlyMap<string, Witness>;

/** A class of ComfyUI itself: it shows any value as a text, in Python's words, and of a large one a few numbers. */
export const WITNESS = 'PreviewAny';

/** One for each node that is given a value, may swallow it, and hands it to another node. `bound`: with the inputs of the run. */
export const witnessesOf = (
  workflow: ComfyWorkflow,
  bound: ComfyWorkflow,
  inputs: Readonly<Record<string, unknown>>,
): Witnesses => {
  const taken = new Set(Object.values(bound).flatMap((node) => Object.values(node.inputs).map(linkedNode)));
  return new Map(
    externalNodes(workflow).flatMap(([node, { input, nothing }]): [string, Witness][] =>
      nothing !== undefined && taken.has(node) && !asksForDefault(inputs[input])
        ? [[`runledger_input_${node}`, { node, input, nothing }]]
        : [],
    ),
  );
};

const linkedNode = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined);

export const withWitnesses = (workflow: ComfyWorkflow, witnesses: Witnesses): ComfyWorkflow => ({
  ...workflow,
  ...Object.fromEntries(
    [...witnesses].map(([id, { node, input }]) => [
      id,
      { class_type: WITNESS, inputs: { source: [node, 0] }, _meta: { title: `Input ${input}` } },
    ]),
  ),
});

/** Nodes or outputs, without those of the witnesses. */
export const withoutWitnesses = <Of>(
  nodes: Readonly<Record<string, Of>>,
  witnesses: Witnesses,
): Record<string, Of> => Object.fromEntries(Object.entries(nodes).filter(([id]) => !witnesses.has(id)));

type Outputs = Readonly<Record<string, unknown>>;

const shown = (outputs: Outputs, id: string): string | undefined => {
  const output = outputs[id];
  const texts: unknown = isJsonObject(output) ? output['text'] : undefined;
  const text: unknown = Array.isArray(texts) ? texts[0] : undefined;
  return typeof text === 'string' ? text : undefined;
};

/** The first input of which its node has made nothing. */
export const unreadInput = (
  workflow: ComfyWorkflow,
  witnesses: Witnesses,
  outputs: Outputs,
): AttemptError | null => {
  for (const [id, { node, input, nothing }] of witnesses) {
    if (!nothing.test(shown(outputs, id) ?? 'not known')) continue;
    const message = `${nodeName(workflow, node)} has nothing, and others would go on without it: ${cannotRead(input)}`;
    return errorOf('invalid_inputs', errorMessage(message), { node: node.slice(0, MAX_ERROR_NAME) });
  }
  return null;
};

const cannotRead = (input: string): string =>
  `ComfyUI cannot read the input "${input}". Send a file of a kind that this server reads; its log may say more.`;

/** A warning where a witness has not been heard. */
export const uncheckedInputs = (witnesses: Witnesses, outputs: Outputs): RunWarning[] => {
  const unchecked = [...witnesses].filter(([id]) => shown(outputs, id) === undefined);
  const [first] = unchecked;
  if (first === undefined) return [];
  const names = unchecked.map(([, { input }]) => `"${input}"`).join(', ');
  const message = `Nobody knows whether ComfyUI could read ${names}: a node that cannot goes on without it. The server does not say it: its class ${WITNESS} is missing, or another one has its name. A newer ComfyUI has it.`;
  return [
    {
      kind: 'unchecked_input',
      message: errorMessage(message, MAX_WARNING_MESSAGE),
      node: first[1].node.slice(0, MAX_ERROR_NAME),
    },
  ];
};

/**
 * The error of a node, with the input that may be its reason: it takes its value from a node of ComfyUI Deploy that was given one, and
 * says that it has nothing.
 */
export const withUnreadInput = (
  workflow: ComfyWorkflow,
  inputs: Readonly<Record<string, unknown>>,
  error: AttemptError,
): AttemptError => {
  if (error.kind !== 'execution_error' || !SAYS_NOTHING.test(error.message)) return error;
  for (const value of Object.values(workflow[error.node ?? '']?.inputs ?? {})) {
    const id: unknown = Array.isArray(value) ? value[0] : undefined;
    const node = typeof id === 'string' ? workflow[id] : undefined;
    const external = node && externalNode(node);
    if (!external?.defaults || asksForDefault(inputs[external.input])) continue;
    const why = `${nodeName(workflow, String(id))} gave it nothing: ${cannotRead(external.input)}`;
    return { ...error, message: errorMessage(`${error.message}\n${why}`) };
  }
  return error;
};

/** Of Python, about a missing value, and about a picture that could be opened and not read. */
const SAYS_NOTHING = /NoneType|ImageFile/;
