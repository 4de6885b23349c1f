import { Form, NameField } from '../ui/form.tsx';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { useMay } from '../session/use-session.ts';
import { DialogButton } from '../ui/dialog-button.tsx';

const MOST_LISTED = 100;

/** A button for whoever may make a deployment, and the form behind it. */
export const NewDeployment = (): ReactNode => {
  const mayWrite = useMay('admin');
  if (!mayWrite) return null;
  return <DialogButton title="New deployment">{() => <DeploymentForm />}</DialogButton>;
};

const DeploymentForm = (): ReactNode => {
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: async (body: {
      name: string;
      workflow_version_id: string;
      machine_id: string;
      environment: string;
    }) => answered(api.POST('/deployments', { body })),
    onSuccess: async ({ id }) => navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } }),
  });
  const submit = (text: (name: string) => string): void =>
    create.mutate({
      name: text('name'),
      environment: text('environment'),
      workflow_version_id: text('version'),
      machine_id: text('machine'),
    });
  return (
    <Form button="Make the deployment" sending={create} onSubmit={submit}>
      <NameField />
      <WhatAndWhere />
      <label className="field">
        Environment
        <input name="environment" required maxLength={128} defaultValue="production" />
      </label>
    </Form>
  );
};

/** The fields `version` and `machine`. */
const WhatAndWhere = (): ReactNode => {
  const [workflow, setWorkflow] = useState('');
  const { workflows, versions, machines } = useChoices(workflow);
  return (
    <>
      <label className="field">
        Workflow
        <select required value={workflow} onChange={({ target }) => setWorkflow(target.value)}>
          <option value="">Choose one</option>
          {workflows.map(({ id, name }) => (
            <option value={id} key={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Version
        <select name="version" required disabled={workflow === ''}>
          {versions.map(({ id, number }) => (
            <option value={id} key={id}>
              {number}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Machine
        <select name="machine" required>
          {machines.map(({ id, name, gpu }) => (
            <option value={id} key={id}>
              {name} ({gpu})
            </option>
          ))}
        </select>
      </label>
    </>
  );
};

interface Choices {
  readonly workflows: readonly { readonly id: string; readonly name: string }[];
  readonly versions: readonly { readonly id: string; readonly number: number }[];
  readonly machines: readonly { readonly id: string; readonly name: string; readonly gpu: string }[];
}

const useChoices = (workflow_id: string): Choices => {
  const query = { limit: MOST_LISTED };
  const workflows = useQuery({
    queryKey: ['workflows', 'choice'],
    queryFn: async ({ signal }) => answered(api.GET('/workflows', { params: { query }, signal })),
  });
  const machines = useQuery({
    queryKey: ['machines', 'choice'],
    queryFn: async ({ signal }) => answered(api.GET('/machines', { params: { query }, signal })),
  });
  const versions = useQuery({
    queryKey: ['versions', workflow_id, 'choice'],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/workflows/{workflow_id}/versions', { params: { path: { workflow_id }, query }, signal }),
      ),
    enabled: workflow_id !== '',
  });
  return {
    workflows: workflows.data?.workflows.filter(({ archived }) => !archived) ?? [],
    versions: versions.data?.versions.filter(({ archived }) => !archived) ?? [],
    machines: machines.data?.machines.filter(({ archived }) => !archived) ?? [],
  };
};
