import { useMemo, type ReactNode } from 'react';
import type { ComfyNode } from './comfy-nodes.ts';
import { nodeState } from './node-state.ts';
import { layOut, NODE_HEIGHT, NODE_WIDTH } from './lay-out.ts';
import './workflow-graph.css';

interface WorkflowGraphProps {
  readonly nodes: readonly ComfyNode[];
  /** What a run says that it does now: the title of a node, and what more there is to say of it. That node is lit. */
  readonly liveStatus?: string | null;
  /** The node in which a run failed. */
  readonly failed?: string | undefined;
}

/** A workflow of ComfyUI as a graph. */
export const WorkflowGraph = ({ nodes, liveStatus = null, failed }: WorkflowGraphProps): ReactNode => {
  const { box, nodes: placed, edges } = useMemo(() => layOut(nodes), [nodes]);
  return (
    <div className="graph scrolls" tabIndex={0} role="region" aria-label="The workflow as a graph">
      <svg
        viewBox={box.join(' ')}
        width={box[2]}
        height={box[3]}
        role="img"
        aria-label={`A workflow of ${nodes.length} nodes`}
      >
        {edges.map(({ key, points }) => (
          <polyline key={key} points={points.map(({ x, y }) => `${x},${y}`).join(' ')} />
        ))}
        {placed.map(({ id, title, type, x, y }) => (
          <g
            key={id}
            className={nodeState({ id, title, type }, { liveStatus, failed })}
            transform={`translate(${x - NODE_WIDTH / 2} ${y - NODE_HEIGHT / 2})`}
          >
            <title>{`${title} (${type}, node ${id})`}</title>
            <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx={6} />
            <text x={10} y={22}>
              {shortened(title)}
            </text>
            <text x={10} y={40} className="type">
              {id}: {shortened(type)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
};

const MOST_CHARACTERS = 24;
const shortened = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
