// Stands for an application: it knows the network by two addresses, and asks a node for a batch.
const { UPLOAD_TO, READ_FROM } = process.env;

const { stamps } = await (await fetch(`${UPLOAD_TO}/stamps`)).json();
const uploaded = await fetch(`${UPLOAD_TO}/bytes`, {
  method: 'POST',
  headers: { 'svc-postage-batch-id': stamps[0].batchID, 'svc-deferred-upload': 'false' },
  body: 'hello',
});
if (uploaded.status !== 201) throw new Error(`upload: status ${uploaded.status}: ${await uploaded.text()}`);
const { reference } = await uploaded.json();

const read = await (await fetch(`${READ_FROM}/bytes/${reference}`)).text();
if (read !== 'hello') throw new Error(`read '${read}', expected 'hello'`);
console.log(`${reference} was uploaded to ${UPLOAD_TO} and read from ${READ_FROM}`);
