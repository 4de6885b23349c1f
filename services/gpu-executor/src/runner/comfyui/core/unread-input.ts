import { errorMessage } from '@runledger/contracts/events/error-message';
import type { AttemptError } from '@runledger/contracts/events/run-error';
import { asksForDefault, externalNode } from './external-nodes.ts';
import { nodeName } from './prompt-error.ts';
import { cannotRead } from './witnesses.ts';
import type { ComfyWorkflow } from './workflow.ts';

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
