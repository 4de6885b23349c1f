import { Type, type Static } from 'typebox';
import { InputTarget } from './catalogue/workflow-inputs.ts';
import { LogMasks } from './run-logs.ts';

/**
 * What the executor of an attempt fetches before it begins: what its RunAssigned names and does not hold. It may have secrets, so nobody
 * stores it or writes it to a log. `workflow` and `inputs` are JSON texts as they are stored, so that their hash can be checked.
 */
export const AssignmentDocument = Type.Object({
  /** Null when the request says that the executor has it. */
  workflow: Type.Union([Type.String(), Type.Null()]),
  /** Null when the event has them. */
  inputs: Type.Union([Type.String(), Type.Null()]),
  /** The values by name. In `inputs`, and in the event, they are sealed. */
  secret_inputs: Type.Record(Type.String(), Type.String()),
  /** Which nodes of the workflow take which inputs. */
  input_targets: Type.Array(InputTarget),
  /** What the deployment masks in logs now. */
  log_masks: Type.Union([LogMasks, Type.Null()]),
  /** The values of the variables in `secrets` of a manifest. One whose secret does not exist is missing. */
  secrets: Type.Record(Type.String(), Type.String()),
});
export type AssignmentDocument = Static<typeof AssignmentDocument>;

/** The query parameter with the hash of the workflow, when the executor has it. */
export const HAS_WORKFLOW = 'has_workflow';
