import { errorMessage, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { isJsonObject } from '@runledger/contracts/json';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { saysOutOfMemory } from '../output/program-error.decide.ts';
import { parsePythonJson } from '../output/python-json.ts';
import type { NodeFailure } from './server-message.decide.ts';
import { nodeInWorkflow, nodeTitle, type ComfyWorkflow } from './workflow.decide.ts';

/** Why a node failed, for people. Its traceback names folders of the server and is left out. */
export const nodeError = (workflow: ComfyWorkflow, failure: NodeFailure): AttemptError => {
  const id = nodeInWorkflow(workflow, failure.node);
  const exception = failure.exception.split('.').at(-1) ?? failure.exception;
  const message = `${nodeName(workflow, id, failure.class_type)} failed: ${exception}: ${failure.message.trim()}`;
  const isMemory = saysOutOfMemory(`${exception}: ${failure.message}`);
  return errorOf(isMemory ? 'out_of_memory' : 'execution_error', errorMessage(message), {
    node: id.slice(0, MAX_ERROR_NAME),
  });
};

/** `Node 3 "Face" (KSampler)`. */
export const nodeName = (workflow: ComfyWorkflow, id: string, class_type?: string): string => {
  const node = workflow[id];
  const type = class_type ?? node?.class_type;
  const title = node === undefined ? type : nodeTitle(node);
  const quoted = title === undefined || title === type ? '' : ` "${title}"`;
  return `Node ${id}${quoted}${type === undefined ? '' : ` (${type})`}`;
};

const NodeErrors = Type.Record(
  Type.String(),
  Type.Object({
    errors: Type.Array(Type.Object({ message: Type.String(), details: Type.Optional(Type.String()) })),
  }),
);
const nodeErrors = compiledSchema(NodeErrors);
const answer = compiledSchema(
  Type.Object({ error: Type.Object({ message: Type.String(), details: Type.Optional(Type.String()) }) }),
);

/** The first node that the server refuses, and why it refuses each; undefined when it refuses none. */
export const refusedNodes = (workflow: ComfyWorkflow, errors: unknown): AttemptError | undefined => {
  if (!nodeErrors.Check(errors)) return undefined;
  const lines = Object.entries(errors).flatMap(([id, node]) =>
    node.errors.map(({ message, details }) => `${nodeName(workflow, id)}: ${sentence(message, details)}`),
  );
  const first = Object.keys(errors)[0];
  if (first === undefined || lines.length === 0) return undefined;
  const message = errorMessage(`ComfyUI refuses the workflow with these inputs.\n${lines.join('\n')}`);
  return errorOf('invalid_inputs', message, { node: first.slice(0, MAX_ERROR_NAME) });
};

/** Why the server refuses a prompt: the body of its answer, which is not always JSON. */
export const refusedPrompt = (workflow: ComfyWorkflow, status: number, body: string): AttemptError => {
  const value = parsePythonJson(body);
  const nodes = refusedNodes(workflow, isJsonObject(value) ? value['node_errors'] : undefined);
  if (nodes !== undefined) return nodes;
  const why = answer.Check(value)
    ? sentence(value.error.message, value.error.details)
    : body.trim().slice(0, 300);
  return errorOf(
    'invalid_inputs',
    errorMessage(`ComfyUI refuses the workflow (${status}): ${why || 'it does not say why.'}`),
  );
};

const sentence = (message: string, details: string | undefined): string =>
  details === undefined || details === '' ? message : `${message} (${details})`;
