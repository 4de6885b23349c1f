import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { TValidationError } from 'typebox/error';
import type { Node } from './node.ts';

/** Whether a value fits a schema. */
export const fits = (schema: Node, value: unknown): boolean => compiledSchema(schema).Check(value);

/** The errors of typebox for a value that does not fit. For a value with many members the list is incomplete. */
export const errorsOf = (schema: Node, value: unknown): readonly TValidationError[] =>
  compiledSchema(schema).Errors(value);
