import { Type, type Static } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { OutputNode } from '../../../runners/runner.ts';

const Node = Type.Object({
  class_type: Type.String({ minLength: 1 }),
  inputs: Type.Record(Type.String(), Type.Unknown()),
  _meta: Type.Optional(Type.Unknown()),
});

/** A workflow in ComfyUI's API format: its nodes by their ids. */
const Workflow = Type.Record(Type.String(), Node);
export type WorkflowNode = Static<typeof Node>;
export type ComfyWorkflow = Readonly<Record<string, WorkflowNode>>;

const workflow = compiledSchema(Workflow);

/** What the server gets beside a workflow: `workflow` in it is that of the editor, which save nodes put into pictures. */
export type PngInfo = Static<typeof PngInfo>;
const PngInfo = Type.Record(Type.String(), Type.Unknown());

/** As ComfyUI's own page sends it to the server. */
const body = compiledSchema(
  Type.Object({
    prompt: Workflow,
    extra_data: Type.Optional(Type.Object({ extra_pnginfo: Type.Optional(PngInfo) })),
  }),
);

export type ReadWorkflow =
  | { readonly kind: 'workflow'; readonly workflow: ComfyWorkflow; readonly pngInfo?: PngInfo }
  | { readonly kind: 'not_one'; why: string };

export const readWorkflow = (value: unknown): ReadWorkflow => {
  if (workflow.Check(value) && Object.keys(value).length > 0) return { kind: 'workflow', workflow: value };
  if (body.Check(value) && Object.keys(value.prompt).length > 0) {
    const pngInfo = value.extra_data?.extra_pnginfo;
    return { kind: 'workflow', workflow: value.prompt, ...(pngInfo && { pngInfo }) };
  }
  const isSaved = typeof value === 'object' && value !== null && 'nodes' in value && 'links' in value;
  const found = isSaved ? 'It is in the format in which ComfyUI saves it. ' : '';
  return {
    kind: 'not_one',
    why: `The workflow is not one in ComfyUI's API format. ${found}In ComfyUI, choose "Export (API)", and create a version with that file.`,
  };
};

/** What people call a node: its title, or its class. */
export const nodeTitle = (node: WorkflowNode): string => ownTitle(node) ?? node.class_type;

const ownTitle = ({ _meta }: WorkflowNode): string | null => {
  const title = typeof _meta === 'object' && _meta !== null && 'title' in _meta ? _meta.title : undefined;
  return typeof title === 'string' && title.trim() !== '' ? title.trim().toWellFormed() : null;
};

/** A node as the outputs show it. `said`: what it called its output. */
export const outputNode = (nodes: ComfyWorkflow, id: string, said: string | null): OutputNode => {
  const node = nodes[id];
  const wanted = node?.inputs['output_id'];
  return {
    id,
    class_type: node?.class_type ?? '',
    title: node === undefined ? null : ownTitle(node),
    output_id: said ?? (typeof wanted === 'string' && wanted !== '' ? wanted : null),
  };
};

/** The node of the workflow that a node belongs to: a node that expands brings ids such as `2.0.0.1`. */
export const nodeInWorkflow = (nodes: ComfyWorkflow, id: string): string =>
  Object.hasOwn(nodes, id) ? id : (id.split('.')[0] ?? id);
