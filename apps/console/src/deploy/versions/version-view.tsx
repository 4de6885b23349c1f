import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Loading, Problem } from '../../ui/problem.tsx';
import { comfyNodes } from '../graph/comfy-nodes.ts';
import { WorkflowGraph } from '../graph/workflow-graph.tsx';
import { useVersion } from './use-version.ts';

interface VersionViewProps {
  readonly workflowId: string;
  readonly versionId: string;
}

/** What a version executes: as a graph if it is one of ComfyUI, and as JSON. */
export const VersionView = ({ workflowId, versionId }: VersionViewProps): ReactNode => {
  const { data, error } = useVersion(workflowId, versionId);
  if (error) return <Problem error={error} />;
  if (!data) return <Loading what="the version" />;
  const text = JSON.stringify(data.workflow, undefined, 2);
  const nodes = comfyNodes(data.workflow);
  return (
    <section className="panel stack" aria-label={`Version ${data.number}`}>
      <div className="row apart">
        <h2>Version {data.number}</h2>
        <CopyButton text={text} label="Copy the workflow" />
      </div>
      <p className="quiet">
        SHA-256 <code>{data.sha256}</code>
      </p>
      {nodes && <WorkflowGraph nodes={nodes} />}
      <details open={nodes === undefined}>
        <summary>As JSON</summary>
        <pre tabIndex={0}>{text}</pre>
      </details>
    </section>
  );
};
