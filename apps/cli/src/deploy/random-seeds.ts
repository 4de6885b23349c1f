import { comfyuiNodes } from '@runledger/contracts/catalogue/comfyui-nodes';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import { isJsonObject, type JsonValue } from '@runledger/contracts/json';
import { isJsonNumber } from '@runledger/contracts/numbers/exact-number';

/** A definition of a seed that is another one for each run. */
export type RandomSeed = Required<Pick<WorkflowInput, 'name' | 'type' | 'random'>> &
  Pick<WorkflowInput, 'node' | 'field' | 'minimum' | 'maximum'>;

type Defined = Pick<WorkflowInput, 'name' | 'node' | 'field'>;

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
