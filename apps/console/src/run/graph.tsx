import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Run } from '../api/schemas.ts';
import { comfyNodes } from '../deploy/graph/comfy-nodes.ts';
import { Loading } from '../ui/problem.tsx';

const WorkflowGraph = lazy(async () => ({
  default: (await import('../deploy/graph/workflow-graph.tsx')).WorkflowGraph,
}));

/** The workflow of a run of ComfyUI, with the node that runs or failed. Nothing for another workflow. */
export const Graph = ({ run }: { readonly run: Run }): ReactNode => {
  const { data } = useQuery({
    queryKey: ['run', run.id, 'workflow'],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/run/{run_id}', {
          params: { path: { run_id: run.id }, query: { include: ['workflow_api'] } },
          signal,
        }),
      ),
    // A run keeps the workflow with which it was queued.
    staleTime: Infinity,
  });
  const nodes = useMemo(() => comfyNodes(data?.workflow_api), [data]);
  if (nodes === undefined) return null;
  return (
    <section className="panel" aria-label="Workflow">
      <h2>Workflow</h2>
      <Suspense fallback={<Loading what="the graph" />}>
        <WorkflowGraph
          nodes={nodes}
          liveStatus={run.finished ? null : run.live_status}
          failed={run.error?.node}
        />
      </Suspense>
    </section>
  );
};
