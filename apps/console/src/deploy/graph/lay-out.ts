import { graphlib, layout } from '@dagrejs/dagre';
import type { ComfyNode } from './comfy-nodes.ts';

export const NODE_WIDTH = 190;
export const NODE_HEIGHT = 52;
const MARGIN = 12;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** `x`, `y`: its middle, in pixels. */
interface PlacedNode extends ComfyNode, Point {}

interface PlacedEdge {
  readonly key: string;
  readonly points: readonly Point[];
}

interface PlacedGraph {
  /** What the nodes and edges cover, with a margin: left, top, width and height. */
  readonly box: readonly [number, number, number, number];
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/** Places nodes from left to right, in the order in which they can be executed. */
export const layOut = (nodes: readonly ComfyNode[]): PlacedGraph => {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 48 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { id, from } of nodes) for (const link of from) graph.setEdge(link.id, id);
  layout(graph);
  const placed = nodes.map((node) => ({ ...node, x: graph.node(node.id).x, y: graph.node(node.id).y }));
  const edges = graph.edges().map((edge: { readonly v: string; readonly w: string }) => ({
    key: `${edge.v} ${edge.w}`,
    points: graph.edge(edge)['points'] ?? [],
  }));
  return { box: boxOf(placed, edges), nodes: placed, edges };
};

/** Edges may run outside of all nodes. */
const boxOf = (nodes: readonly Point[], edges: readonly PlacedEdge[]): PlacedGraph['box'] => {
  const corners = nodes.flatMap(({ x, y }) => [
    { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 },
    { x: x + NODE_WIDTH / 2, y: y + NODE_HEIGHT / 2 },
  ]);
  const points = [...corners, ...edges.flatMap((edge) => edge.points)];
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
  return [left, top, Math.max(...xs) + MARGIN - left, Math.max(...ys) + MARGIN - top];
};
