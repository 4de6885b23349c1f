import type { Run } from '../api/schemas.ts';
import { useState, type ReactNode } from 'react';
import { API } from '../api/client.ts';
import { useDeployments } from '../deploy/use-deployments.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { codeSamples, type Language } from './code-samples.ts';

const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const satisfies readonly Language[];

interface CodeDialogProps {
  readonly run: Run;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** The same run as a request of a program. */
export const CodeDialog = ({ run, open, onClose }: CodeDialogProps): ReactNode => {
  const [language, setLanguage] = useState<Language>('curl');
  const { data } = useDeployments();
  // A run does not say its deployment. One of the same version on the same machine does the same.
  const deployment = data?.deployments.find(
    ({ workflow_version_id, machine_id }) =>
      workflow_version_id === run.workflow_version_id && machine_id === run.machine_id,
  );
  const samples = codeSamples(
    { deployment_id: deployment?.id ?? 'DEPLOYMENT_ID', inputs: run.workflow_inputs ?? {} },
    `${location.origin}${API}`,
  );
  return (
    <Dialog title="Queue such a run from a program" open={open} onClose={onClose}>
      <div className="row" role="group" aria-label="Language">
        {LANGUAGES.map((each) => (
          <button
            type="button"
            className={`chip ${each === language ? 'chosen' : ''}`}
            key={each}
            aria-pressed={each === language}
            onClick={() => setLanguage(each)}
          >
            {each}
          </button>
        ))}
      </div>
      <pre tabIndex={0}>{samples[language]}</pre>
      <CopyButton text={samples[language]} />
    </Dialog>
  );
};
