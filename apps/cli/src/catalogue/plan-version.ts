import { isDeepStrictEqual } from 'node:util';
import type { WorkflowInput } from '@runledger/contracts/catalogue/workflow-inputs';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { type JsonValue, isJsonObject } from '@runledger/contracts/json';
import { comfyuiNodes } from '@runledger/contracts/catalogue/comfyui-workflow';
import { isJsonNumber } from '@runledger/contracts/exact-number';
import { messageOf } from '@runledger/resilience/errors';
import type { Client } from '../command/command-context.ts';
import { readRecord, patchRecord, postRecord, type SingleRecords } from './records.ts';
import { versionsOf } from './workflows.ts';
import { CommandError } from '../command/command-error.ts';

interface VersionToDeploy {
  readonly workflow: JsonValue;
  /** Undefined for those of the present version. */
  readonly inputs: JsonValue | undefined;
  /** Whether the seeds that no input gives become random inputs. */
  readonly randomSeeds: boolean;
  readonly message: string | undefined;
}

export interface VersionPlan {
  /** What the service checks of it. */
  readonly checked: Readonly<Record<string, unknown>>;
  /** What the service says of the check, and where definitions are from that nobody gave. */
  readonly explained: (check: Promise<unknown>) => Promise<void>;
  /** The present version, when it is the same. */
  readonly same: WorkflowVersion | undefined;
  readonly make: (workflowId: string, remember: Remember) => Promise<Deployed<WorkflowVersion>>;
  /** Of a folder. */
  readonly code?: CodePlan;
}

/** The code of a version, and how it differs from the present one. */
export interface CodePlan {
  readonly sha256: string;
  readonly bytes: number;
  /** For programs. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** For people. */
  readonly lines: readonly string[];
}

export const samePlan = (present: WorkflowVersion): VersionPlan => ({
  checked: { workflow_version_id: present.id },
  explained: async (check) => void (await check),
  same: present,
  make: async () => ({ item: present, outcome: 'unchanged' }),
});

/** `present`: the version to compare with. */
export const planVersion = (
  client: Client,
  present: WorkflowVersion | undefined,
  { workflow, inputs, randomSeeds: withSeeds, message }: VersionToDeploy,
): VersionPlan => {
  const wanted = inputs ?? present?.inputs ?? [];
  const seeds = withSeeds && Array.isArray(wanted) ? randomSeeds(workflow, wanted as WorkflowInput[]) : [];
  const kept = seeds.length > 0 && Array.isArray(wanted) ? [...wanted, ...seeds] : wanted;
  const hasKept = inputs === undefined && present !== undefined && present.inputs.length > 0;
  if (present && isDeepStrictEqual(present.workflow, workflow) && isSameList(present.inputs, kept))
    return samePlan(present);
  const version = { workflow, inputs: kept };
  const theirs = hasKept
    ? `The definitions are those of version ${present.number}. ${OTHER_INPUTS}`
    : undefined;
  return {
    checked: version,
    explained: withOrigin(theirs),
    same: undefined,
    make: async (parentId, remember) => {
      const item = await made(client, versionsOf(parentId), { ...version, message }, remember);
      if (hasKept)
        client.screen.hint(`It has the input definitions of version ${present.number}. ${OTHER_INPUTS}`);
      return { item, outcome: 'new' };
    },
  };
};

/** Says where the definitions of inputs are from, when they are refused. */
export const withOrigin =
  (origin: string | undefined): VersionPlan['explained'] =>
  async (check) => {
    try {
      await check;
    } catch (error) {
      const isAboutInputs = error instanceof CommandError && error.message.includes('body.inputs');
      if (origin === undefined || !isAboutInputs || error.refusal === undefined) throw error;
      throw new CommandError(`${error.message} ${origin}`, { refusal: error.refusal, cause: error });
    }
  };

/** The version to compare with: the one that the deployment uses, or else the newest one of the workflow. */
export const presentVersion = async (
  { call }: Client,
  workflow: { readonly id: string } | undefined,
  deployment: Pick<Deployment, 'workflow_id' | 'workflow_version_id'> | undefined,
): Promise<WorkflowVersion | undefined> => {
  if (workflow === undefined) return undefined;
  const versions = versionsOf(workflow.id);
  const newest = { method: 'GET', path: versions.path, query: { limit: 1 } } as const;
  const id =
    deployment?.workflow_id === workflow.id
      ? deployment.workflow_version_id
      : (await versions.readPage(call, newest)).items[0]?.id;
  return id === undefined ? undefined : readRecord(call, versions, id);
};

const OTHER_INPUTS = 'Give others with --inputs FILE, or none with --no-inputs.';

const isSameList = (stored: WorkflowVersion['inputs'], given: JsonValue): boolean =>
  Array.isArray(given) && isDeepStrictEqual(stored, given.map(asStored));

/** What is false alone. */
const FLAGS: ReadonlySet<string> = new Set(['secret', 'random']);

/** The service stores a definition without members that are null and flags that are false, and `required` always. */
export const asStored = <Definition>(given: Definition): Definition =>
  typeof given === 'object' && given !== null
    ? ({
        required: false,
        ...Object.fromEntries(
          Object.entries(given).filter(
            ([member, value]) => value !== null && !(value === false && FLAGS.has(member)),
          ),
        ),
      } as Definition)
    : given;

/** A definition of a seed that is another one for each run. */
type RandomSeed = Required<Pick<WorkflowInput, 'name' | 'type' | 'random'>> &
  Pick<WorkflowInput, 'node' | 'field' | 'minimum' | 'maximum'>;

interface Defined {
  readonly name: string;
  readonly node?: string | null | undefined;
  readonly field?: string | null | undefined;
}

/**
 * Definitions for the seeds of a workflow that no definition gives a value: numbers in its nodes, which ComfyUI's page and ComfyUI Deploy
 * draw anew for each run, and those that External Seed draws without telling which. A seed that the workflow of the editor beside it
 * calls fixed is left out.
 */
export const randomSeeds = (workflow: JsonValue, defined: readonly Defined[]): readonly RandomSeed[] => {
  const nodes = comfyuiNodes(workflow);
  const fixed = fixedNodes(workflow);
  const names = new Set(defined.map(({ name }) => name));
  const targets = Object.entries(isJsonObject(nodes) ? nodes : {}).flatMap(([node, value]) => {
    const { class_type, inputs } = isJsonObject(value) ? value : {};
    if (!isJsonObject(inputs) || fixed.has(node)) return [];
    return class_type === SEED_NODE
      ? drawnByNode(inputs, names)
      : SEED_FIELDS.filter(
          (field) =>
            isJsonNumber(inputs[field]) &&
            !defined.some((input) => input.node === node && input.field === field),
        ).map((field) => ({ name: '', node, field }));
  });
  return targets.map(({ name, ...target }) => {
    const own = name || freeName(targets.length === 1 ? 'seed' : `seed_${String(target.node)}`, names);
    names.add(own);
    return { name: own, type: 'integer', random: true, ...target };
  });
};

interface Target extends Pick<RandomSeed, 'node' | 'field' | 'minimum' | 'maximum'> {
  /** Empty where it can be any. */
  readonly name: string;
}

const SEED_FIELDS = ['seed', 'noise_seed'] as const;
const SEED_NODE = 'ComfyUIDeployExternalSeed';
/** What that node takes. */
const SEED_BOUNDS = { minimum: 1, maximum: 999_999_999_999_999 };

/** It draws where its default is none of its seeds, such as -1. */
const drawnByNode = (inputs: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): Target[] => {
  const { input_id: name, default_value: seed } = inputs;
  const isFixed = typeof seed === 'number' && seed >= SEED_BOUNDS.minimum;
  return typeof name !== 'string' || isFixed || names.has(name) ? [] : [{ name, ...SEED_BOUNDS }];
};

/** Nodes of which the editor's workflow says that their seed stays. */
const fixedNodes = (workflow: JsonValue): ReadonlySet<string> => {
  const beside = memberOf(memberOf(memberOf(workflow, 'extra_data'), 'extra_pnginfo'), 'workflow');
  const nodes = memberOf(beside, 'nodes');
  return new Set(
    (Array.isArray(nodes) ? (nodes as unknown[]) : []).flatMap((node) => {
      const values = memberOf(node, 'widgets_values');
      return Array.isArray(values) && values.includes('fixed') ? [String(memberOf(node, 'id'))] : [];
    }),
  );
};

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined);

const freeName = (wanted: string, names: ReadonlySet<string>): string => {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    if (!names.has(name)) return name;
  }
};

type Outcome = 'new' | 'updated' | 'unchanged';

export interface Deployed<Item> {
  readonly item: Item;
  readonly outcome: Outcome;
}

/** What is there already, or would be made. */
export interface Planned {
  /** Null for what is not there yet. */
  readonly id: string | null;
  readonly name: string;
  readonly outcome: Outcome;
}

/** Remembers how to take back what a step has made or changed. */
export type Remember = (undo: () => Promise<unknown>) => void;

/** Carries out steps. When the service refuses one of them, those before are taken back, the last one first. */
export const allOrNothing = async <Result>(
  steps: (remember: Remember) => Promise<Result>,
): Promise<Result> => {
  const undos: (() => Promise<unknown>)[] = [];
  try {
    return await steps((undo) => undos.push(undo));
  } catch (error) {
    if (!(error instanceof CommandError) || error.refusal === undefined) throw error;
    const { refusal } = error;
    try {
      for (const undo of undos.toReversed()) await undo();
    } catch (cause) {
      const why = messageOf(cause);
      throw new CommandError(`${error.message} What was made before is still there: ${why}`, {
        refusal,
        cause,
      });
    }
    throw error;
  }
};

/** A new record, which is archived when the command is refused nevertheless, since something changed after the check. */
export const made = async <Item extends { readonly id: string }>(
  { call }: Client,
  kind: SingleRecords<Item>,
  body: Readonly<Record<string, unknown>>,
  remember: Remember,
): Promise<Item> => {
  const item = await postRecord(call, kind, body);
  remember(() => patchRecord(call, kind, item.id, { archived: true }));
  return item;
};
