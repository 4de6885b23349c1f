import { Type, type Static, type TSchema, type TSchemaOptions, type TUnion } from 'typebox';
import { cog } from './cog.ts';
import { comfyui } from './comfyui.ts';
import { program } from './program.ts';
import type { RunnerRules } from './runner-kind.ts';

/** One line for each kind of runner. */
const RUNNER_KINDS = {
  program,
  comfyui,
  cog,
};

const oneOf = <Schema extends TSchema>(schemas: Schema[], options?: TSchemaOptions): TUnion<[Schema]> =>
  // The static type of a union wants a tuple; this one has the types of all schemas.
  Type.Union(schemas as [Schema], options);

const kinds = Object.values(RUNNER_KINDS);

/** How a machine executes a workflow, in events and catalogue records. */
export const RunnerChoice = oneOf(kinds.map(({ choice }) => choice));
export type RunnerChoice = Static<typeof RunnerChoice>;

/** The same in the HTTP API. */
export const Runner = oneOf(
  kinds.map(({ runner }) => runner),
  { title: 'Runner', description: 'How a machine executes a workflow.' },
);
export type Runner = Static<typeof Runner>;

export const runnerKindOf = ({ kind }: Pick<Runner, 'kind'>): RunnerRules<RunnerChoice, Runner> =>
  RUNNER_KINDS[kind];
