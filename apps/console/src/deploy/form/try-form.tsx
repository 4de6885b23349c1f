import { useIsMutating, useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../../api/client.ts';
import { Problem } from '../../ui/problem.tsx';
import {
  inputsOf,
  presetOf,
  type Entered,
  type EnteredValue,
  type InputDefinition,
  type Inputs,
} from './form-inputs.ts';
import { InputField } from './input-field.tsx';
import { UPLOADS } from './upload-file.ts';

interface TryFormProps {
  readonly deploymentId: string;
  readonly inputs: readonly InputDefinition[];
}

/** A form that the inputs of a version make. It queues a run, and goes to it. */
export const TryForm = ({ deploymentId, inputs: definitions }: TryFormProps): ReactNode => {
  const [entered, setEntered] = useState<Entered>(() =>
    Object.fromEntries(definitions.map((definition) => [definition.name, presetOf(definition)])),
  );
  // The same key until something is changed, so that a response that was lost does not make two runs.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const [isAsked, setAsked] = useState(false);
  const navigate = useNavigate();
  const queue = useMutation({
    mutationFn: async (inputs: Inputs) =>
      answered(
        api.POST('/run/deployment/queue', {
          params: { header: { 'Idempotency-Key': key } },
          body: { deployment_id: deploymentId, inputs },
        }),
      ),
    onSuccess: async ({ run_id }) => navigate({ to: '/runs/$runId', params: { runId: run_id } }),
  });
  // Until a file is uploaded, a run would be without it.
  const isUploading = useIsMutating({ mutationKey: UPLOADS }) > 0;
  const { inputs, problems } = inputsOf(definitions, entered);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setAsked(true);
    if (Object.keys(problems).length === 0) queue.mutate(inputs);
  };
  const enter = (name: string, value: EnteredValue): void => {
    setEntered((former) => ({ ...former, [name]: value }));
    setKey(crypto.randomUUID());
  };
  return (
    <form className="stack" onSubmit={submit}>
      {definitions.length === 0 && <p className="quiet">Its version declares no inputs.</p>}
      {definitions.map((definition) => (
        <InputField
          key={definition.name}
          definition={definition}
          value={entered[definition.name]}
          problem={isAsked ? problems[definition.name] : undefined}
          onChange={(value) => enter(definition.name, value)}
        />
      ))}
      {queue.error && <Problem error={queue.error} />}
      <div>
        <button type="submit" className="primary" disabled={queue.isPending || isUploading}>
          Run it
        </button>
      </div>
    </form>
  );
};
