import { comfyuiNodes } from '@runledger/contracts/catalogue/comfyui-workflow';

export interface ComfyNode {
  readonly id: string;
  readonly type: string;
  /** As its author named it. */
  readonly title: string;
  /** The ids of the nodes that it takes something from, with the names of its inputs. */
  readonly from: readonly { readonly id: string; readonly input: string }[];
}

/** The nodes of a workflow for ComfyUI; undefined for another workflow. A link is `[node id, output index]`. */
export const comfyNodes = (given: unknown): readonly ComfyNode[] | undefined => {
  const workflow = comfyuiNodes(given);
  if (!isObject(workflow)) return undefined;
  const entries = Object.entries(workflow);
  if (entries.length === 0) return undefined;
  const nodes: ComfyNode[] = [];
  for (const [id, node] of entries) {
    if (!isObject(node) || typeof node['class_type'] !== 'string' || !isObject(node['inputs']))
      return undefined;
    const meta = isObject(node['_meta']) ? node['_meta'] : {};
    const title = typeof meta['title'] === 'string' ? meta['title'] : node['class_type'];
    const from = Object.entries(node['inputs'])
      .map(([input, value]) => ({ input, id: Array.isArray(value) ? String(value[0]) : '' }))
      .filter((link) => link.id in workflow);
    nodes.push({ id, type: node['class_type'], title, from });
  }
  return nodes;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
